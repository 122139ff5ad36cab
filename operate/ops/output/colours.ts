// The colours of states. A line is coloured after its layout, so that colours take no room in it,
// and after whatever acts on a terminal was taken out of it.

import { type Colour, coloured } from '#core/command-line/colours.ts';
import type { HostState } from '#core/domain/host/host-state.ts';
import type { arqStates, healthStates, programStates } from '#core/shapes/vocabulary/words.ts';

type State =
  | HostState
  | (typeof arqStates)[number]
  | (typeof healthStates)[number]
  | (typeof programStates)[number]
  | 'unknown'
  | 'enabled'
  | 'disabled';

/** States that need no attention and are not good news, such as Unbound, have no colour. */
const colourOf: { readonly [Each in State]?: Colour } = {
  online: 'green',
  drained: 'yellow',
  away: 'red',
  conflict: 'red',
  'never-reported': 'yellow',
  Bound: 'green',
  BindStarted: 'yellow',
  BindFailed: 'red',
  provisioning: 'yellow',
  unknown: 'yellow',
  healthy: 'green',
  degraded: 'yellow',
  unhealthy: 'red',
  enabled: 'green',
  disabled: 'yellow',
  draining: 'yellow',
  started: 'yellow',
  'awaiting-power-cycle': 'yellow',
  done: 'green',
  failed: 'red',
};

/** A cell that is a state and nothing else: two spaces or an end of the line are beside it. */
const cell = new RegExp(`(?<=^| {2})(?:${Object.keys(colourOf).join('|')})(?= {2}|$)`, 'g');

export function withColours(line: string): string {
  return line.replaceAll(cell, (state) => {
    const colour = colourOf[state as State];
    return colour === undefined ? state : coloured(state, colour);
  });
}
