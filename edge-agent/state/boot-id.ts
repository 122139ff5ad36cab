import { readFileSync } from 'node:fs';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The kernel draws it at boot. A new boot id means that the host has lost its mdevs and programs.
 */
export function readBootId(file: string): string {
  const text = readFileSync(file, 'utf8').trim().toLowerCase();
  if (!uuid.test(text)) throw new Error(`${file} does not hold a boot id.`);
  return text;
}
