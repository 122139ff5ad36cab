// In place of a screen whose host, device, request or server the API does not have.

import type { ApiFailure } from '#console/api/failure.ts';
import { addressOf } from '#console/routes.ts';
import { Screen } from './screen.tsx';
import type { Live } from './use-live.ts';

/** The failure of a reading that says that there is no such thing: its id may be no id at all. */
export function missingOf({ failure }: Live<unknown>): ApiFailure | undefined {
  return failure?.status === 404 || failure?.status === 400 ? failure : undefined;
}

interface MissingProps {
  readonly title: string;
  readonly sentence: string;
  readonly ways: readonly (readonly [title: string, ...address: Parameters<typeof addressOf>])[];
}

export function Missing({ title, sentence, ways }: MissingProps) {
  return (
    <Screen title={title}>
      <p>{sentence}</p>
      <ul class="ways">
        {ways.map(([title, ...address]) => (
          <li key={title}>
            <a href={addressOf(...address)}>{title}</a>
          </li>
        ))}
      </ul>
    </Screen>
  );
}
