// Assertions about refused requests: the answer names the error, and no stored row has changed.

import { expect } from 'vitest';
import type { Answer, Ask, World } from '#test/support/world.ts';
import { everythingStored } from './tables.ts';

/** Sends the request, and asserts that no stored row has changed. */
export async function refused(
  world: World,
  method: string,
  path: string,
  ask: Ask,
): Promise<Answer> {
  const before = await everythingStored();
  const answer = await world.ask(method, path, ask);
  expect(await everythingStored()).toEqual(before);
  return answer;
}

/** The message in Cyborg's envelope and in the specification's. */
export function sentenceOf({ json }: Answer): string {
  expect(Object.keys(json).sort()).toEqual(['error', 'error_message']);
  expect(JSON.parse(json.error_message)).toEqual({
    faultcode: 'Client',
    faultstring: json.error,
    debuginfo: null,
  });
  return json.error;
}
