import { at, seconds, whole } from '../print.ts';
import { type Launches, launch } from './launches.ts';
import { type Raised, remedyFor } from './limits.ts';

const many = { seconds: 100, tenants: 1000 };
const one = { ...many, tenants: 1 };
const within = (seconds: number) => ({
  ...many,
  perSecond: 5000 / seconds,
  seconds,
  isBurst: true,
});

/** What 1,000 servers a second take. */
const raised = { warmWrites: 16_000, novaEventsConcurrency: 40 } satisfies Raised;
/** What 5,000 within a second take besides. */
const raisedForBurst: Raised = {
  ...raised,
  apiRequests: 40_000,
  novaRequestsPerSecond: 8000,
  executions: 3000,
  provisionedConcurrency: 1000,
};
/** AWS's numbers for its smaller regions. */
const smallRegion: Raised = { apiRequests: 2500, putEvents: 600 };

export const launches: Readonly<Record<string, Launches>> = {
  '10 a second': { ...many, perSecond: 10 },
  '50 a second': { ...many, perSecond: 50 },
  '200 a second': { ...many, perSecond: 200 },
  '250 a second': { ...many, perSecond: 250 },
  '250 a second of one tenant': { ...one, perSecond: 250 },
  '400 a second in a small region': { ...many, perSecond: 400, raised: smallRegion },
  '500 a second': { ...many, perSecond: 500 },
  '1,000 a second': { ...many, perSecond: 1000 },
  '5,000 within ten seconds': within(10),
  '5,000 within a second': within(1),
  'raised: 500 a second': { ...many, perSecond: 500, raised },
  'raised: 450 a second of one tenant': { ...one, perSecond: 450, raised },
  'raised: 600 a second of one tenant': { ...one, perSecond: 600, raised },
  'raised: 1,000 a second': { ...many, perSecond: 1000, raised },
  'the same, 20 consumers of `nova-events`': {
    ...many,
    perSecond: 1000,
    raised: { warmWrites: raised.warmWrites },
  },
  'raised: 5,000 within ten seconds': { ...within(10), raised },
  'raised further: 5,000 within a second': { ...within(1), raised: raisedForBurst },
};

export const launchHead = [
  'servers with a PCI device',
  'asked',
  'failed',
  '99 % wait for Cyborg',
  'executions at once',
  'deepest `nova-events`',
  'messages late by',
  'history',
  'late events',
  'refusals',
  'what raises it',
];

export function launchRow(name: string, load: Launches): string[] {
  const outcome = launch(load);
  const waits = outcome.waits.toSorted((a, b) => a - b);
  const { refusals, failedAt } = outcome;
  const [first] = [...failedAt, ...refusals.keys()];
  return [
    name,
    whole(outcome.asked),
    whole(outcome.failed),
    seconds(at(waits, 0.99)),
    whole(outcome.executions),
    whole(outcome.novaEvents),
    seconds(outcome.changesLate),
    seconds(outcome.historyLate),
    whole(outcome.lateEvents),
    first ? `${whole(refusals.get(first) ?? 0)}: ${first}` : '',
    first ? remedyFor(first, load.tenants) : '',
  ];
}
