// The commands of the command line client, in order. Later steps can use the answer of a step.

import assert from 'node:assert/strict';
import { currentClient } from './packages.ts';

export interface Ran {
  readonly isOk: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Step {
  readonly name: string;
  /** @param client its name: a current client takes other arguments than the plug-in */
  readonly args: (answers: ReadonlyMap<string, unknown>, client: string) => string[];
  /** @throws if the command did not do what it should */
  readonly check: (ran: Ran, client: string) => unknown;
}

type Row = Readonly<Record<string, unknown>>;

const none = '99999999-0000-4000-8000-000000000009';
const groups = '[{"resources:FPGA": "1", "trait:CUSTOM_FAKE_DEVICE": "required"}]';

const uuidOf = (answers: ReadonlyMap<string, unknown>, step: string): string => {
  const answer = answers.get(step);
  const row = (Array.isArray(answer) ? answer[0] : answer) as Row | undefined;
  return String(row?.uuid ?? `<${step} answered no uuid>`);
};

/** Checks the command's answer, as JSON. */
function shows(hold: (row: Row) => void): Step['check'] {
  return (ran) => {
    assert.ok(ran.isOk, ran.stderr);
    const row = JSON.parse(ran.stdout) as Row;
    hold(row);
    return row;
  };
}

function lists(hold: (rows: readonly Row[]) => void): Step['check'] {
  return shows((rows) => hold(rows as unknown as readonly Row[]));
}

const done: Step['check'] = (ran) => {
  assert.ok(ran.isOk, ran.stderr);
  return undefined;
};

/** Like {@link check}, for a client whose own code fails before it sends the request. */
function unlessBroken(broken: string, check: Step['check']): Step['check'] {
  return (ran, client) => {
    if (client !== broken) return check(ran, client);
    assert.equal(ran.isOk, false, `${client} works: docs/api.md says that it does not`);
    return undefined;
  };
}

/** The service refuses the request, and the command prints the service's sentence. */
function refused(sentence: RegExp): Step['check'] {
  return (ran) => {
    assert.equal(ran.isOk, false, ran.stdout);
    assert.match(ran.stderr, sentence);
    return undefined;
  };
}

const json = ['-f', 'json'];
const profile = (answers: ReadonlyMap<string, unknown>) => uuidOf(answers, 'device profile create');
const arq = (answers: ReadonlyMap<string, unknown>) => uuidOf(answers, 'arq create');

const regionOf = (answers: ReadonlyMap<string, unknown>): string => {
  const rows = answers.get('deployable list') as readonly Row[] | undefined;
  const region = rows?.find(({ name }) => String(name).endsWith('region0'));
  return String(region?.uuid ?? '<deployable list has no region>');
};

/** The answer, before all steps, that names an image of Glance. */
export const imageAnswer = 'image';

export const steps: readonly Step[] = [
  step(
    'device list',
    () => json,
    lists((rows) => assert.equal(rows.length, 5)),
  ),
  step(
    'device list --long',
    () => ['--long', ...json],
    lists((rows) => assert.ok(rows[0]?.uuid)),
  ),
  step(
    'device show',
    (answers) => [uuidOf(answers, 'device list'), ...json],
    shows((row) => assert.ok(row.type)),
  ),
  step('device show, missing', () => [none], refused(/not found/i)),
  step(
    'deployable list',
    () => json,
    lists((rows) => assert.ok(rows.length >= 5)),
  ),
  step(
    'deployable list --long',
    () => ['--long', ...json],
    lists((rows) => assert.ok(rows[0])),
  ),
  step(
    'deployable show',
    (answers) => [uuidOf(answers, 'deployable list'), ...json],
    shows((row) => assert.ok(row.name)),
  ),
  step(
    'device disable',
    (answers) => [uuidOf(answers, 'device list')],
    unlessBroken('Debian', done),
  ),
  step(
    'device enable',
    (answers) => [uuidOf(answers, 'device list')],
    unlessBroken('Debian', done),
  ),
  step(
    'deployable program',
    (answers) => [regionOf(answers), uuidOf(answers, imageAnswer), ...json],
    unlessBroken(
      'openstackclient-8.3.0-cyborgclient-3.0.0',
      shows((row) => assert.match(String(row.name), /region0$/)),
    ),
  ),
  step(
    'device profile create',
    () => ['cli', groups, '--description', 'by the client', ...json],
    shows((row) => assert.equal(row.name, 'cli')),
  ),
  step('device profile create, twice', () => ['cli', groups], refused(/exists/)),
  step('device profile create, wrong', () => ['bad', '[{"resources:FPGA": "-1"}]'], refused(/-1/)),
  step(
    'device profile list',
    () => json,
    lists((rows) => assert.equal(rows[0]?.name, 'cli')),
  ),
  step(
    'device profile list --long',
    () => ['--long', ...json],
    lists((rows) => assert.ok(rows[0]?.created_at)),
  ),
  step(
    'device profile show',
    (answers) => [profile(answers), ...json],
    shows((row) => assert.equal(row.name, 'cli')),
  ),
  step(
    'arq create',
    () => ['cli', ...json],
    shows((row) => assert.equal(row.state, 'Initial')),
  ),
  step(
    'arq list',
    () => json,
    lists((rows) => assert.equal(rows.length, 1)),
  ),
  step(
    'arq list --long',
    () => ['--long', ...json],
    lists((rows) => assert.equal(rows.length, 1)),
  ),
  step(
    'arq show',
    (answers) => [arq(answers), ...json],
    shows((row) => assert.equal(row.device_profile_name, 'cli')),
  ),
  step(
    'arq bind, without a service token',
    (answers, client) => [
      ...[arq(answers), 'cmp1', none, none],
      ...(client === currentClient ? [] : ['project']),
    ],
    // The current client looks the server up in Nova first.
    refused(/service token|No Server found/),
  ),
  step(
    'arq unbind, without a service token',
    (answers) => [arq(answers)],
    refused(/service token/),
  ),
  step('arq delete', (answers) => [arq(answers)], done),
  step(
    'arq delete, again',
    (answers) => [arq(answers)],
    refused(/No accelerator_request|not found/),
  ),
  step('device profile delete', (answers) => [profile(answers)], done),
  step('device profile delete, again', (answers) => [profile(answers)], refused(/not found/)),
];

/** @param name the command, and after a comma what is special about it */
function step(name: string, args: Step['args'], check: Step['check']): Step {
  const words = (name.split(',')[0] ?? '').replace(/ --long$/, '').split(' ');
  return { name, args: (answers, client) => [...words, ...args(answers, client)], check };
}
