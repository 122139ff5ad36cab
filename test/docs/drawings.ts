// The drawings of docs/drawings.md that are made from tables, as Mermaid text.

import { type ArqState, comesFrom, mayBecome } from '#core/domain/arq/arq.ts';
import { ways } from '#core/domain/host-work/ways.ts';
import { states as handleStates, meanings, transitions } from './handle-life.ts';

const arqStates = Object.keys(comesFrom) as ArqState[];

/** Why an ARQ enters a state. */
const arqLabels: Readonly<Record<ArqState, string>> = {
  Initial: 'POST',
  BindStarted: 'PATCH, its host must prepare it',
  Bound: 'PATCH, nothing to prepare',
  BindFailed: 'its host fails, or the deadline ends',
  Unbound: 'PATCH remove',
  provisioning: 'its host boots',
};

export function arqDrawing(): string {
  const arrows = arqStates.flatMap((to) =>
    arqStates
      .filter((from) => mayBecome(from, to))
      .map((from) => `    ${from} --> ${to}: ${labelOf(from, to)}`),
  );
  return lines(['stateDiagram-v2', `    [*] --> Initial: ${arqLabels.Initial}`, ...arrows]);
}

function labelOf(from: ArqState, to: ArqState): string {
  const isAgain = from === 'provisioning';
  if (to === 'Bound' && (isAgain || from === 'BindStarted')) return 'its host has prepared it';
  return to === 'BindFailed' && isAgain ? 'its host cannot prepare it again' : arqLabels[to];
}

export function handleDrawing(): string {
  return lines([
    'stateDiagram-v2',
    '    [*] --> reported: its host reports the device',
    '    state reported {',
    '        [*] --> free',
    ...transitions().map(({ from, to, label }) => `        ${from} --> ${to}: ${label}`),
    '    }',
    '    reported --> gone: its host no longer reports it',
    '    gone --> reported: reported again',
    '    gone --> [*]: no claim, no release',
  ]);
}

/** The table below the drawing: which fields make which state. */
export function handleStatesTable(): string {
  return lines([
    '| state | fields that are set |',
    '|---|---|',
    ...handleStates.map((state) => `| ${state} | ${meanings[state]} |`),
  ]);
}

export function waysDrawing(): string {
  // Mermaid's ids have no hyphen.
  const id = (name: string) => name.replaceAll('-', '_');
  return lines([
    'flowchart LR',
    ...Object.entries(ways).flatMap(([name, { carries, kinds, otherwise }]) => [
      `    ${id(name)}["${name}: ${carries} (${kinds})"]`,
      `    ${id(name)} -->|no answer, or not done| ${id(otherwise)}`,
    ]),
  ]);
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}
