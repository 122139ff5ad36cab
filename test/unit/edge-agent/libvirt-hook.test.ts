import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeServerRecords } from '#agent/servers/server-records.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { lockState } from '#agent/state/state-lock.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { definitionOf } from '#test/support/hosts/domain-folder.ts';

const hook = fileURLToPath(new URL('../../../edge-agent/libvirt-hook.sh', import.meta.url));
const server = '7d8e9f0a-1b2c-4d3e-8f4a-5b6c7d8e9f0a';
const mdev = 'cccccccc-1b2c-4d3e-8f4a-5b6c7d8e9f0a';
const [first, second] = ['0000:c1:00.0', '0000:c2:10.3'];

let state = '';

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'state-'));
});

afterEach(() => {
  rmSync(state, { recursive: true });
});

/** The agent's list, and a process that holds its lock while it runs. */
async function agentWith(units: readonly string[]): Promise<void> {
  const record = Object.fromEntries(units.map((unit) => [unit, { device: unit, since: 'then' }]));
  await writeServerRecords(openStateFiles(state), { [server]: { units: record, lacks: {} } });
  await lockState(state, silentLog);
}

function start(definition: string, ...operation: readonly string[]) {
  const [name = 'prepare', part = 'begin'] = operation;
  const { status, stderr } = spawnSync(hook, ['instance-1', name, part, '-'], {
    input: definition,
    encoding: 'utf8',
    env: { ...process.env, CYBORG_AGENT_STATE_DIR: state },
  });
  return { status, stderr };
}

describe("libvirt's hook", () => {
  it('refuses the start of a server without a device that it had, and says what to do', async () => {
    await agentWith([first, second]);
    const { status, stderr } = start(definitionOf('n', [second], server));
    expect(status).toBe(1);
    expect(stderr).toContain(`server ${server} would start without ${first}`);
    expect(stderr).toContain(`openstack server reboot --hard ${server}`);
    expect(start(definitionOf('n', [second, first], server)).status).toBe(0);
  });

  it('does not take an address of the guest for one of the host', async () => {
    // The builder gives each device this address in the guest.
    await agentWith(['0000:06:00.0', second]);
    expect(start(definitionOf('n', [second], server)).status).toBe(1);
  });

  it('knows an mdev by its uuid', async () => {
    await agentWith([mdev]);
    const text = (inner: string) =>
      definitionOf('n', [], server).replace('<devices>', `<devices>${inner}`);
    const device = `\n<hostdev type='mdev'>\n<source>\n<address uuid='${mdev}'/>\n</source>\n</hostdev>\n`;
    expect(start(text(device)).status).toBe(0);
    expect(start(text('')).status).toBe(1);
  });

  const withoutMetadata = (text: string) => text.replace(/<metadata>.*<\/metadata>/s, '');
  it.each([
    ['another server', definitionOf('n', [], '00000000-1b2c-4d3e-8f4a-5b6c7d8e9f0a'), []],
    ['a server with another device, after a shelf', definitionOf('n', [second], server), []],
    ['a domain that Nova has not made', withoutMetadata(definitionOf('n', [], server)), []],
    ['no definition', '', []],
    ['the end of a server', definitionOf('n', [], server), ['release', 'end']],
    ['the restart of libvirt', definitionOf('n', [], server), ['reconnect', 'begin']],
  ])('lets %s pass', async (_what, definition, operation) => {
    await agentWith([first]);
    expect(start(definition, ...operation)).toEqual({ status: 0, stderr: '' });
  });

  it('lets each server start while no agent runs, or without its list', async () => {
    expect(start(definitionOf('n', [], server)).status).toBe(0);
    const record = { units: { [first]: { device: first, since: 'then' } }, lacks: {} };
    await writeServerRecords(openStateFiles(state), { [server]: record });
    closeSync(openSync(join(state, 'agent.lock'), 'a'));
    expect(start(definitionOf('n', [], server)).status).toBe(0);
  });

  it('lets a server start where the look takes longer than two seconds', async () => {
    await agentWith([first]);
    const slow = join(state, 'slow-hook');
    const text = readFileSync(hook, 'utf8').replace(
      'definition=$(cat)',
      'sleep 10; definition=$(cat)',
    );
    writeFileSync(slow, text, { mode: 0o755 });
    const startedAt = performance.now();
    const { status } = spawnSync(slow, ['n', 'prepare', 'begin', '-'], {
      input: definitionOf('n', [], server),
      env: { ...process.env, CYBORG_AGENT_STATE_DIR: state },
    });
    expect(status).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
