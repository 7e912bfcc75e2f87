"""What passes find out about code before they change it."""
