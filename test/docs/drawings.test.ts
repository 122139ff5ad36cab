// The drawings of docs/drawings.md match the tables in the code.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { jobDocument } from '#core/contracts/jobs/job-document.ts';
import { queues } from '#core/contracts/queues/queues.ts';
import { rules } from '#core/contracts/queues/rules.ts';
import { comesFrom } from '#core/domain/arq/arq.ts';
import { type RouteRow, routes } from '#functions/routes.ts';
import { followedChanges } from '#infra/stack/stream-filters.ts';
import { operations } from '#simulation/operations/operations.ts';
import { runOperation } from '#simulation/scenarios/run-operation.ts';
import { arqDrawing, handleDrawing, handleStatesTable, waysDrawing } from './drawings.ts';
import { type Fields, stateOf, transitions } from './handle-life.ts';

const page = readFileSync(new URL('../../docs/drawings.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^```mermaid\n(.*?)^```$/gms)].map(([, text = '']) => text);
const [sequence = '', arqs = '', handles = '', ways = ''] = blocks;

describe('the states of an ARQ', () => {
  it('are drawn as in the table', () => expect(arqs).toBe(arqDrawing()));
});

describe('the ways of asking a host', () => {
  it('are drawn as in the table', () => expect(ways).toBe(waysDrawing()));
});

describe('the life of an attach handle', () => {
  it('is drawn as in the table of its fields', () => {
    expect(handles).toBe(handleDrawing());
    expect(page).toContain(handleStatesTable());
  });

  const simulated = 'covers what handles go through in simulated operations';
  it(simulated, { tags: ['long'] }, async () => {
    const seen = new Set<string>();
    for (const name of Object.keys(operations)) {
      await runOperation(name, { trace: handleWatcher((change) => seen.add(change)) });
    }
    const drawn = new Set(transitions().map(({ from, to }) => `${from} → ${to}`));
    expect([...seen].filter((each) => !drawn.has(each))).toEqual([]);
    // Rare transitions need faults: a failed release with a claim waiting behind it.
    const rare = ['waiting → cleaning', 'waiting → quarantined', 'quarantined → claimed'];
    expect([...drawn].filter((each) => !seen.has(each) && !rare.includes(each))).toEqual([]);
  });
});

describe('the sequence of a bind', () => {
  const participants = new Map(
    [...sequence.matchAll(/participant (\w+) as (.+)$/gm)].map(([, id = '', name = '']) => [
      id,
      name,
    ]),
  );
  const arrows = [...sequence.matchAll(/^ {4}(\w+)(--?>>)(\w+): (.+)$/gm)].map(
    ([, from = '', kind = '', to = '', text = '']) => ({ from, kind, to, text }),
  );
  const named = (kind: string) =>
    [...participants.values()].flatMap((name) =>
      name.startsWith(`${kind} `) ? name.slice(kind.length + 1).split(', ') : [],
    );

  it('goes between participants', () => {
    const ends = arrows.flatMap(({ from, to }) => [from, to]);
    expect(ends.filter((id) => !participants.has(id))).toEqual([]);
    expect([...participants.keys()].filter((id) => !ends.includes(id))).toEqual([]);
  });

  it('names each queue that Nova waits for, and no other', () => {
    const leased = queues.filter((row) => 'isLeased' in row).map(({ name }) => name);
    // By messages of this queue, Nova schedules; it waits for none of them.
    const awaited = leased.filter((name) => name !== 'provider-syncs');
    expect(named('queue').sort()).toEqual([...awaited].sort());
  });

  it('names existing functions and tables', () => {
    const functions = ['changes', ...routes.map(({ resource }) => resource)];
    expect(named('function').filter((name) => !functions.includes(name))).toEqual([]);
    const followed = Object.entries(followedChanges).filter(([, patterns]) => patterns.length > 0);
    expect(named('tables').sort()).toEqual(followed.map(([name]) => name).sort());
  });

  it('calls existing routes with their statuses', () => {
    const called: RouteRow[] = [];
    for (const { kind, to, text } of arrows.filter(({ from, to }) => [from, to].includes('api'))) {
      const [, method, path] = /^(GET|POST|PATCH) ([^?]+)/.exec(text) ?? [];
      if (to === 'api') {
        const row = routes.find((each) => each.method === method && each.path === path);
        expect(row, text).toBeDefined();
        if (row) called.push(row);
      } else if (kind === '-->>') {
        expect(Number.parseInt(text, 10)).toBe(called.at(-1)?.success);
      }
    }
    expect(called.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'GET']);
  });

  it('names existing states, rules and actions', () => {
    const states = [...sequence.matchAll(/ARQs are (\w+)/g)].map(([, state = '']) => state);
    expect(states).toEqual(['Initial', 'BindStarted', 'Bound']);
    expect(states.filter((state) => !(state in comesFrom))).toEqual([]);
    for (const { to, text } of arrows) {
      const [, name] = / rule (\w+)/.exec(text) ?? [];
      if (!name) continue;
      const queue = rules.find((rule) => rule.name === name)?.queue;
      expect(participants.get(to)).toBe(`queue ${queue}`);
    }
    expect(sequence).toMatch(/ rule job_ended$/m);
    const [, action] = /action (\w+)/.exec(sequence) ?? [];
    expect(jobDocument.options.map(({ shape }) => shape.action.value)).toContain(action);
  });

  it('has the order of a simulated bind', async () => {
    const acted: string[] = [];
    // This bind takes longer than a list waits, so Nova gets the event.
    await runOperation('bind a vGPU when AWS IoT is back', {
      trace: (line) => {
        if (line.includes('"Initial" → "BindStarted"')) acted.push('accelerator-requests');
        const [, part] = actor.exec(line) ?? [];
        if (part && acted.length > 0 && !acted.includes(part)) acted.push(part);
      },
    });
    const nameOf = (id: string) => (participants.get(id) ?? '').replace(/^(queue|function) /, '');
    const afterPatch = arrows.findIndex(({ text }) => text.includes('BindStarted'));
    const drawn = arrows.slice(afterPatch).map(({ from }) => nameOf(from));
    const isPart = (name: string) => name !== 'Nova' && !name.startsWith('tables ');
    expect(acted).toEqual([...new Set(drawn)].filter(isPart));
  });
});

/**
 * The actor of a line of a simulation's trace: of an agent only its part in a bind, of nova-events
 * only that it notifies Nova.
 */
const actor =
  /^\S+ (changes|host-jobs|job-events|nova-events(?=: compute POST)|agent(?= \S+: device mdev create))/;

const fieldOf = { arq_uuid: 'claim', release_id: 'release', quarantine: 'quarantine' } as const;

/** Follows handles by the trace of a simulation, which has the changes of each row. */
function handleWatcher(onChange: (change: string) => void): (line: string) => void {
  const rows = new Map<string, Fields>();
  return (line) => {
    const [, key] = /^ +(RP#\S+ HANDLE#\S+) /.exec(line) ?? [];
    if (key === undefined) return;
    const before = rows.get(key) ?? new Set();
    const after = new Set(before);
    for (const [attribute, field] of Object.entries(fieldOf)) {
      const [, isRemoved] = new RegExp(`[ ,]${attribute}: .*? → (undefined)?`).exec(line) ?? [];
      if (isRemoved === 'undefined') after.delete(field);
      else if (line.includes(` ${attribute}: `)) after.add(field);
    }
    rows.set(key, after);
    if (stateOf(before) !== stateOf(after)) onChange(`${stateOf(before)} → ${stateOf(after)}`);
  };
}
