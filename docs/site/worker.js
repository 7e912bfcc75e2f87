// Runs the programs, off the page's own thread: a search may take long, and the page can end it.

import { loadPyodide } from "./pyodide/pyodide.mjs";

async function start() {
  const here = new URL(".", import.meta.url);
  const [python, packages] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", here).href }),
    fetch(new URL("packages.zip", here)).then((answer) => {
      if (!answer.ok) throw new Error(`packages.zip: ${answer.status}`);
      return answer.arrayBuffer();
    }),
  ]);
  const folder = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  python.unpackArchive(packages, "zip", { extractDir: folder });
  return python.runPython("from fencewright.tools.embedded.in_browser import run_as_json; run_as_json");
}

const started = start();
started.then(
  () => self.postMessage({ ready: true }),
  (problem) => self.postMessage({ failed: String(problem) }),
);

self.onmessage = async ({ data: { command, file, text } }) => {
  try {
    const run = await started;
    self.postMessage({ result: JSON.parse(run(command, file, text)) });
  } catch (problem) {
    self.postMessage({ failed: String(problem) });
  }
};
