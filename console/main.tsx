// The console's entry.

const root = document.querySelector('#root');
if (root) root.textContent = 'Accelerators';
