// The page "Try it": an example, its text, a command, and what the command prints.

const here = new URL(".", import.meta.url);
const root = document.getElementById("try");

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const choice = element("select", { id: "try-example", "aria-label": "Example" });
const text = element("textarea", { id: "try-text", spellcheck: "false", rows: "18", "aria-label": "File" });
const command = element("input", { id: "try-command", spellcheck: "false", "aria-label": "Command" });
const button = element("button", { id: "try-run", type: "button", class: "md-button md-button--primary" }, "Run");
const state = element("span", { id: "try-state", role: "status" });
const output = element("pre", { id: "try-output", tabindex: "0" });
const picture = element("div", { id: "try-picture" });
root.replaceChildren(
  choice,
  text,
  element("div", { class: "try-line" }, element("span", {}, "$"), command, button),
  state,
  output,
  picture,
);

let examples = [];
let file = "";
let worker = null;
let running = false;

function show(result, said) {
  output.textContent = result.stdout + result.stderr;
  picture.replaceChildren();
  for (const drawing of result.pictures) {
    const source = URL.createObjectURL(new Blob([drawing.svg], { type: "image/svg+xml" }));
    picture.append(element("img", { src: source, alt: drawing.name }));
  }
  root.dataset.status = result.status;
  state.textContent = said;
}

function choose() {
  const example = examples[choice.selectedIndex];
  file = example.file;
  text.value = example.text;
  command.value = example.command;
  show(example.result, `status ${example.result.status}, from when the site was built`);
}

function idle() {
  running = false;
  button.textContent = "Run";
}

function stop(said) {
  worker?.terminate();
  worker = null;
  state.textContent = said;
  idle();
}

function connect() {
  worker = new Worker(new URL("worker.js", here), { type: "module" });
  worker.onerror = (event) => stop(`It does not start: ${event.message || "no reason given"}`);
  worker.onmessage = ({ data }) => {
    if (data.failed) stop(`It does not start: ${data.failed}`);
    else if (data.ready) state.textContent = "running";
    else {
      show(data.result, `status ${data.result.status}, after ${data.result.seconds.toFixed(2)} s, in this browser`);
      idle();
    }
  };
}

button.addEventListener("click", () => {
  if (running) {
    stop("stopped");
    return;
  }
  running = true;
  button.textContent = "Stop";
  state.textContent = worker ? "running" : "loading";
  output.textContent = "";
  picture.replaceChildren();
  delete root.dataset.status;
  if (!worker) connect();
  worker.postMessage({ command: command.value, file, text: text.value });
});
command.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !running) button.click();
});
choice.addEventListener("change", choose);

const answer = await fetch(new URL("examples.json", here));
examples = await answer.json();
choice.append(...examples.map((each) => element("option", {}, each.title)));
choose();
root.dataset.ready = "yes";
