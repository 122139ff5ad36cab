import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDomains } from '#agent/guards/libvirt/domains.ts';
import { type LookAtServers, openSeenAttachments } from '#agent/servers/seen-attachments.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { DomainFolder } from '#test/support/hosts/domain-folder.ts';
import { aDevice } from '#test/support/reports.ts';

const [first, second] = ['0000:c1:00.0', '0000:c2:00.0'];
const a = 'aaaaaaaa-1b2c-4d3e-8f4a-5b6c7d8e9f0a';
const b = 'bbbbbbbb-1b2c-4d3e-8f4a-5b6c7d8e9f0a';
const mdev = 'cccccccc-1b2c-4d3e-8f4a-5b6c7d8e9f0a';
const minuteMs = 60_000;

const devices = [first, second].map((address) =>
  aDevice({
    address,
    offers: {
      resource_class: 'PGPU',
      traits: [],
      attach_handles: [
        {
          type: 'PCI',
          info: { domain: '0000', bus: address.slice(5, 7), device: '00', function: '0' },
        },
      ],
    },
  }),
);

let state = '';
let defined = new DomainFolder();
let live = new DomainFolder();
let nowMs = 0;
let look: LookAtServers;
let marks = {};

/** A start of the agent. */
async function open(): Promise<void> {
  look = await openSeenAttachments({
    files: openStateFiles(state),
    readDefined: openDomains({ path: defined.path, isNamed: false }),
    readLive: openDomains({ path: live.path, isNamed: false }),
    marks: () => marks,
    wallMs: () => nowMs,
    log: silentLog,
  });
}

beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'state-'));
  [defined, live] = [new DomainFolder(), new DomainFolder()];
  nowMs = Date.parse('2026-11-27T10:00:00.000Z');
  marks = {};
  await open();
});

afterEach(() => {
  defined.remove();
  live.remove();
  rmSync(state, { recursive: true });
});

/** What is reported of the device after a number of discoveries, a minute apart. */
async function reportedAfter(minutes: number, address = first) {
  let seen = await look(devices);
  for (let minute = 0; minute < minutes; minute += 1) {
    nowMs += minuteMs;
    seen = await look(devices);
  }
  return seen(address)?.units.map(({ unit, instance_uuid, is_attached }) => [
    unit,
    instance_uuid,
    is_attached,
  ]);
}

function start(uuid: string, functions: readonly string[]): void {
  defined.define(uuid, functions, uuid);
  live.run(uuid, functions, uuid);
}

/** A domain that an operator has made with `virsh`. */
function runOther(functions: readonly string[]): void {
  live.run(b, functions, b);
  const file = join(live.path, `${b}.xml`);
  live.write(`${b}.xml`, readFileSync(file, 'utf8').replace(/<metadata>.*<\/metadata>/s, ''));
}

describe('a server', () => {
  it('is no reason for a report when it starts, and is in one after six hours', async () => {
    expect(await reportedAfter(0)).toBeUndefined();
    start(a, [first]);
    expect(await reportedAfter(30)).toBeUndefined();
    expect(await reportedAfter(6 * 60)).toEqual([[first, a, true]]);
    live.undefine(a);
    expect(await reportedAfter(0)).toBeUndefined();
  });

  it('is reported when it runs without a device that it had, and no longer when it has it', async () => {
    start(a, [first, second]);
    await reportedAfter(1);
    start(a, [second]);
    expect(await reportedAfter(0)).toBeUndefined();
    expect(await reportedAfter(1)).toEqual([[first, a, false]]);
    expect(await reportedAfter(0, second)).toBeUndefined();
    start(a, [first, second]);
    expect(await reportedAfter(0)).toBeUndefined();
  });

  it('is reported by an agent that starts after the boot that took the device', async () => {
    start(a, [first]);
    await reportedAfter(1);
    live.undefine(a);
    // Nova defines it anew within a moment.
    defined.undefine(a);
    await reportedAfter(1);
    await open();
    start(a, []);
    expect(await reportedAfter(1)).toEqual([[first, a, false]]);
  });

  it('that is shut off is not reported', async () => {
    start(a, [first]);
    await reportedAfter(1);
    live.undefine(a);
    defined.define(a, [], a);
    expect(await reportedAfter(60)).toBeUndefined();
  });

  it('that was shelved and has another device now is not reported', async () => {
    start(a, [first]);
    await reportedAfter(1);
    start(a, [second]);
    expect(await reportedAfter(60)).toBeUndefined();
  });

  it('is forgotten ten minutes after its definition', async () => {
    start(a, [first]);
    await reportedAfter(1);
    live.undefine(a);
    defined.undefine(a);
    await reportedAfter(12);
    start(a, []);
    expect(await reportedAfter(2)).toBeUndefined();
  });

  it('that has the device of another one is reported at once', async () => {
    start(a, [first]);
    await reportedAfter(1);
    live.undefine(a);
    start(b, [first]);
    expect(await reportedAfter(0)).toEqual([[first, b, true]]);
  });

  it('is reported when a domain of the host has its device, and until it has it again', async () => {
    start(a, [first]);
    await reportedAfter(1);
    start(a, []);
    runOther([first]);
    expect(await reportedAfter(0)).toEqual([[first, b, true]]);
    const both = [
      [first, a, false],
      [first, b, true],
    ];
    expect(await reportedAfter(1)).toEqual(both);
    const { at } = (await look(devices))(first) ?? {};
    expect(await reportedAfter(5)).toEqual(both);
    expect((await look(devices))(first)?.at).toBe(at);
    live.undefine(b);
    expect(await reportedAfter(0)).toEqual([[first, a, false]]);
    start(a, [first]);
    expect(await reportedAfter(0)).toBeUndefined();
  });

  it('is reported by the mdev that a job has made for it', async () => {
    marks = { [mdev]: { address: first, type: 'MDEV', info: {} } };
    const device = `<hostdev type='mdev'><source><address uuid='${mdev}'/></source></hostdev>`;
    const text = (inner: string) =>
      `<domstatus state='running'><domain><name>n</name><uuid>${a}</uuid>
        <devices>${inner}</devices></domain></domstatus>`;
    live.write('n.xml', text(device));
    await reportedAfter(1);
    live.write('n.xml', text(''));
    expect(await reportedAfter(1)).toEqual([[mdev, a, false]]);
  });
});

it('reports a domain that Nova has not made when it starts, and no longer when it has ended', async () => {
  expect(await reportedAfter(0)).toBeUndefined();
  runOther([first]);
  expect(await reportedAfter(0)).toEqual([[first, b, true]]);
  await open();
  expect(await reportedAfter(0)).toEqual([[first, b, true]]);
  live.undefine(b);
  expect(await reportedAfter(0)).toBeUndefined();
  // Its record is kept for ten minutes.
  runOther([first]);
  expect(await reportedAfter(0)).toEqual([[first, b, true]]);
});

it('reports what it did before while a definition cannot be read', async () => {
  start(a, [first]);
  await reportedAfter(1);
  live.write('other.xml', '<domstatus');
  start(a, []);
  expect(await reportedAfter(2)).toBeUndefined();
  live.undefine('other');
  expect(await reportedAfter(1)).toEqual([[first, a, false]]);
});
