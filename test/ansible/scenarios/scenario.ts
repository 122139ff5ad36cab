// One fact about the roles, and what is said where it does not hold.

import { isDeepStrictEqual } from 'node:util';

/** Each needs what the earlier ones of its file have left. */
export interface Scenario {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** @throws Error that shows both, and what Ansible has printed */
export function equal(found: unknown, expected: unknown, output = ''): void {
  if (isDeepStrictEqual(found, expected)) return;
  throw new Error(
    `${output}\nfound ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`,
  );
}

/** Ansible wraps and escapes what it prints. */
export function contains(output: string, text: string): void {
  if (!output.replaceAll(/\s+/g, ' ').includes(text)) throw new Error(`${output}\nlacks ${text}`);
}

export function lacks(output: string, text: string): void {
  if (output.includes(text)) throw new Error(`${output}\nshows ${text}`);
}
