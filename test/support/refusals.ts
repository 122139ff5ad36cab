// Refusals: the answer names what was wrong, and nothing stored has changed.

import { expect } from 'vitest';
import { everythingStored } from './tables.ts';
import type { Answer, Ask, World } from './world.ts';

/** Asks, and makes sure that nothing stored has changed. */
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

/** The sentence, in Cyborg's envelope and in the specification's. */
export function sentenceOf({ json }: Answer): string {
  expect(Object.keys(json).sort()).toEqual(['error', 'error_message']);
  expect(JSON.parse(json.error_message)).toEqual({
    faultcode: 'Client',
    faultstring: json.error,
    debuginfo: null,
  });
  return json.error;
}
