// A host with one card whose cleaning has a gate: a real program, which a test writes.

import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#agent/clock.ts';
import type { GateSettings } from '#agent/config/gate-settings.ts';
import type { HandleWork } from '#agent/drivers/contract/driver.ts';
import { createGates, type Gates } from '#agent/gates/gates.ts';
import { openProc } from '#agent/guards/proc.ts';
import { type StartChild, startChild } from '#agent/hardware/watched-child.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aLog, aReportedDevice } from '#test/support/hosts/agent.ts';

export const address = '0000:3b:00.0';
/** Another one in each process of a test run: gates are found by it. */
export const uuid = randomUUID();
const info = { domain: '0000', bus: '3b', device: '00', function: '0' };
export const handle = { type: 'PCI', info } as const;
export const work: HandleWork = { address, uuid, ...handle };
export const sleeping = '/bin/sleep 600';

/** An agent that is killed: nothing follows the end of its child. */
export const startAndDie: StartChild = ({ afterExit: _, ...options }) => startChild(options);

export const card = (clean_seconds?: number) =>
  aReportedDevice({
    driver: 'cards',
    offers: {
      resource_class: 'PGPU',
      traits: [],
      attach_handles: [{ ...handle, ...(clean_seconds && { clean_seconds }) }],
    },
  });

export function aGateHost() {
  const directory = mkdtempSync(join(tmpdir(), 'agent-gates-'));
  const program = join(directory, 'gate');
  const log = aLog();
  const devices = join(directory, 'sys/bus/pci/devices');
  const driverLink = join(devices, address, 'driver');
  mkdirSync(join(devices, address), { recursive: true });
  symlinkSync('../../../drivers/vfio-pci', driverLink);

  const gatesOf = (
    settings: Readonly<Record<string, Partial<GateSettings>>>,
    start: StartChild = startChild,
  ): Gates => {
    const full = Object.entries(settings).map(([key, given]) => [
      key,
      { program, time_limit_seconds: 20, ...given },
    ]);
    return createGates({
      settings: Object.fromEntries(full),
      sysfs: openSysfs(join(directory, 'sys')),
      proc: openProc('/proc'),
      clock: systemClock,
      log,
      start,
    });
  };
  return {
    directory,
    program,
    log,
    driverLink,
    gatesOf,
    write: (...lines: readonly string[]) =>
      writeFileSync(program, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o700 }),
    pass: (time_limit_seconds = 20, gates = gatesOf({ PGPU: { time_limit_seconds } })) => {
      const gate = gates.gateFor('cards', 'PGPU');
      if (!gate) throw new Error('The handle has no gate.');
      return gates.pass(gate, card(), work);
    },
    /** Whether the process runs that the gate has named in a file. */
    isRunning: (file: string) => {
      try {
        const pid = readFileSync(join(directory, file), 'utf8').trim();
        const [, state] = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return state !== 'Z';
      } catch {
        return false;
      }
    },
    stop: () => rmSync(directory, { recursive: true }),
  };
}
