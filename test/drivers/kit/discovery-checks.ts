// What the kit asks of `discover`: twice alike, within the report's form, and with any one of the
// files that it reads missing, unreadable or invalid never more than without that fault.

import { deepStrictEqual as same } from 'node:assert';
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { acceptReport, type ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { fileFaults } from '#test/drivers/faulty-host.ts';
import type { DriverFixture } from '#test/drivers/fixture.ts';
import { Trial } from '#test/drivers/trial.ts';
import { aReport } from '#test/support/reports.ts';
import { type Check, CheckFailed } from './check.ts';

/** @param files of the tree, as a discovery has read them */
export function discoveryChecks(fixture: DriverFixture, files: readonly string[]): Check[] {
  const ofFiles = ofEachKind(files).map((path) => ({
    title: `discover with a fault in ${path}`,
    run: (trial: Trial) => discoverWithout(trial, fixture, path),
  }));
  return [
    { title: 'discover finds devices, twice the same', run: discoverTwice },
    { title: 'discover by an agent that has started again finds the same', run: discoverAnew },
    { title: 'discover finds what the control plane takes', run: isTaken },
    { title: 'discover changes nothing', run: changesNothing },
    ...ofFiles,
    ...(['is missing', 'is truncated', 'is hostile'] as const).map((fault) => ({
      title: `discover while a file of the driver's own folder ${fault}`,
      run: (trial: Trial) => ownFiles(trial, fault),
    })),
  ];
}

/** Files that a discovery reads. */
export async function filesRead(fixture: DriverFixture): Promise<string[]> {
  const trial = new Trial(fixture);
  try {
    await trial.start();
    await trial.discover();
    await trial.discover();
    return [...trial.faulty.read].sort();
  } finally {
    trial.remove();
  }
}

async function devicesOf(trial: Trial): Promise<readonly ReportedDevice[]> {
  const { devices, failedDrivers } = await trial.discover();
  // The frame logs why: it threw, or a description is not as the report's form says.
  const why = trial.log.lines.filter(({ message }) => /^(Driver|Device)/.test(message)).at(-1);
  if (failedDrivers.length > 0) throw new CheckFailed(`It failed: ${JSON.stringify(why)}`);
  return devices.map(({ device }) => device);
}

async function discoverTwice(trial: Trial): Promise<void> {
  const first = await devicesOf(trial);
  if (first.length === 0) {
    const { notOffered } = await trial.discover();
    throw new CheckFailed(`It finds no device; not offered: ${JSON.stringify(notOffered)}`);
  }
  same(await devicesOf(trial), first);
  same(trial.driver.name, trial.fixture.module.name);
}

async function discoverAnew(trial: Trial): Promise<void> {
  const first = await devicesOf(trial);
  await trial.start();
  same(await devicesOf(trial), first);
}

/** Names and uuids in it may be no other host's. */
async function isTaken(trial: Trial): Promise<void> {
  const { refused } = acceptReport(trial.thing, aReport(await devicesOf(trial)));
  same(refused, {});
}

async function changesNothing(trial: Trial): Promise<void> {
  await devicesOf(trial);
  const before = trial.objects();
  trial.faulty.written.length = 0;
  await trial.driver.discover();
  same(trial.faulty.written, []);
  same(trial.objects(), before);
}

/** The first and the last file of a name: many devices have the same files. */
function ofEachKind(files: readonly string[]): string[] {
  const kindOf = (path: string) => path.replaceAll(/[0-9a-f]{4,}|[0-9a-f:.-]{7,}/g, '*');
  const kinds = Map.groupBy(files, kindOf);
  return [...kinds.values()].flatMap((same) => [...new Set([same.at(0) ?? '', same.at(-1) ?? ''])]);
}

async function discoverWithout(
  trial: Trial,
  { bus = [] }: DriverFixture,
  path: string,
): Promise<void> {
  const before = await devicesOf(trial);
  for (const fault of fileFaults) {
    await trial.start();
    try {
      trial.faulty.faults.file = { path, fault };
      const { devices, failedDrivers } = await trial.discover();
      if (failedDrivers.length > 0 && !bus.includes(path)) await devicesOf(trial);
      refuseMore(
        devices.map(({ device }) => device),
        before,
      );
      delete trial.faulty.faults.file;
      same(await devicesOf(trial), before, 'After the fault the devices are not as before.');
    } catch (error) {
      throw new CheckFailed(`The file ${fault}: ${(error as Error).message}`);
    }
  }
}

/** Fewer devices and handles may be offered, but no others, and no device as another one. */
function refuseMore(found: readonly ReportedDevice[], before: readonly ReportedDevice[]): void {
  if (JSON.stringify(found).includes('hostile')) {
    throw new CheckFailed('The report has a text that the driver should have refused.');
  }
  for (const device of found) {
    const known = before.find(({ address }) => address === device.address);
    if (!known) throw new CheckFailed(`It offers ${device.address}, which it did not before.`);
    same(identityOf(device), identityOf(known), 'The device is described as another one.');
    const handles = new Set(handlesOf(known));
    const more = handlesOf(device).filter((handle) => !handles.has(handle));
    if (more.length > 0) throw new CheckFailed(`It offers more: ${more.join(', ')}`);
  }
}

function identityOf({ type, vendor, product, offers }: ReportedDevice) {
  return { type, vendor, product, resourceClass: offers?.resource_class };
}

/** Without their places, which need files of their own. */
function handlesOf({ offers, regions }: ReportedDevice): string[] {
  return [...(offers ? [offers] : []), ...regions].flatMap(({ attach_handles: handles }) =>
    handles.map(({ locality: _, ...handle }) => JSON.stringify(handle)),
  );
}

async function ownFiles(trial: Trial, fault: 'is missing' | 'is truncated' | 'is hostile') {
  const before = await devicesOf(trial);
  for (const file of filesBelow(join(trial.directory, '..'))) {
    const content = readFileSync(file);
    if (fault === 'is missing') rmSync(file);
    else if (fault === 'is truncated') truncateSync(file, Math.floor(content.length / 2));
    else writeFileSync(file, '{"hostile":{"__proto__":[null]}}');
    await trial.start();
    await devicesOf(trial);
    writeFileSync(file, content);
  }
  await trial.start();
  same(await devicesOf(trial), before);
}

function filesBelow(directory: string): string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch {
    return [];
  }
}
