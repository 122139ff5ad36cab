// What the kit asks of `prepare`, `find` and `clean`, through the part of the agent that calls
// them: the effect of a job is the same whatever happens to the agent or to a write.

import { deepStrictEqual as same } from 'node:assert';
import type { HandleWork } from '#agent/drivers/contract/driver.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { evidence } from '#core/contracts/jobs/job-document.ts';
import { inTime, type Job, type Offered, Trial } from '#test/drivers/trial.ts';
import { type Check, CheckFailed } from './check.ts';

const codes = ['EEXIST', 'EBUSY', 'ENOSPC', 'EINVAL', 'EIO'] as const;
/** More writes than any job has. */
const writesMax = 100;

type Verb = Job['verb'];

/** Checks of drivers with handles that a job prepares. */
export const prepareChecks: readonly Check[] = [
  { title: 'prepare makes one object, and prepare again no other', run: prepareTwice },
  { title: 'clean removes it, and clean again does nothing', run: removeTwice },
  { title: 'prepare that is killed at any write is finished by the same job', run: prepareKilled },
  { title: 'clean finishes after prepare was killed at any write', run: abandoned },
  { title: 'clean that is killed at any write is finished by the same job', run: removeKilled },
  { title: 'a late release does not remove what a later holder has', run: lateRelease },
  { title: 'what an earlier holder left is cleaned before the next one gets it', run: inherited },
  { title: 'an object of another program is neither cleaned nor given away', run: foreign },
  { title: 'after a boot the object is there again without a job', run: bootBetween },
  { title: 'a write of prepare that hangs blocks no other device', run: (t) => hang(t, 'prepare') },
  ...codes.map((code) => ({
    title: `prepare that is refused with ${code} leaves nothing, and works again`,
    run: (trial: Trial) => prepareRefused(trial, code),
  })),
  ...codes.map((code) => ({
    title: `clean that is refused with ${code} fails or has cleaned, and works again`,
    run: (trial: Trial) => removeRefused(trial, code),
  })),
];

/** Checks of drivers that clean handles which no job has prepared. */
export const cleanChecks: readonly Check[] = [
  { title: 'clean gives evidence, and leaves the host as it was', run: cleanOnce },
  { title: 'what clean could not clean without its programs is not offered', run: uncleanable },
  { title: 'clean happens once for each release', run: lateClean },
  { title: 'clean that is killed at any write is finished by the same job', run: cleanKilled },
  { title: 'after a boot the same handles are offered', run: sameAfterBoot },
  { title: 'a write of clean that hangs blocks no other device', run: (t) => hang(t, 'clean') },
  ...codes.map((code) => ({
    title: `clean that is refused with ${code} fails, and works again`,
    run: (trial: Trial) => cleanRefused(trial, code),
  })),
];

export const isPrepared = ({ prepare }: Offered) => prepare === 'at-bind';
export const isOnlyCleaned = ({ prepare, isCleaned }: Offered) =>
  isCleaned && prepare !== 'at-bind';

async function preparedHandle(trial: Trial): Promise<Offered['work']> {
  return firstOf((await trial.offered()).filter(isPrepared)).work;
}

async function cleanedHandle(trial: Trial): Promise<Offered['work']> {
  return firstOf((await trial.offered()).filter(isOnlyCleaned)).work;
}

function firstOf(offered: readonly Offered[]): Offered {
  const [first] = offered;
  if (!first) throw new CheckFailed('It no longer offers the handle.');
  return first;
}

const jobs = { last: 0 };

function aJob(verb: Verb, work: Offered['work'], epoch: number): Job {
  jobs.last += 1;
  return { id: `job-${jobs.last}`, verb, work, epoch };
}

async function succeed(trial: Trial, job: Job) {
  const outcome = await trial.run(job);
  if (outcome.status !== 'SUCCEEDED') throw new CheckFailed(`${job.verb}: ${outcome.reason}`);
  return outcome;
}

async function mustBeReady(trial: Trial, work: Offered['work']): Promise<void> {
  const found = await trial.driver.find?.(work);
  if (found?.state !== 'ready') {
    throw new CheckFailed(`find says ${JSON.stringify(found)} of a prepared handle.`);
  }
}

/** Exactly the objects that there were, and those of the handles. */
function mustHave(trial: Trial, before: readonly string[], ...made: string[]): void {
  if (!trial.host.objects) return;
  same(trial.objects(), [...before, ...made].sort(), 'The host has other objects.');
}

async function mustBeAbsent(trial: Trial, work: Offered['work'], before: readonly string[]) {
  const found = await trial.driver.find?.(work);
  same(found, { state: 'absent' });
  mustHave(trial, before);
}

async function prepareTwice(trial: Trial): Promise<void> {
  const work = await preparedHandle(trial);
  const before = trial.objects();
  same(await trial.driver.find?.(work), { state: 'absent' });
  await succeed(trial, aJob('prepare', work, 1));
  await mustBeReady(trial, work);
  mustHave(trial, before, work.uuid);
  await trial.offered();
  await succeed(trial, aJob('prepare', work, 1));
  mustHave(trial, before, work.uuid);
  same(trial.cleans, 0);
}

async function removeTwice(trial: Trial): Promise<void> {
  const work = await preparedHandle(trial);
  const before = trial.objects();
  await succeed(trial, aJob('prepare', work, 1));
  const { evidence: given } = await succeed(trial, aJob('clean', work, 2));
  evidence.parse(given?.[work.uuid]);
  await mustBeAbsent(trial, work, before);
  await succeed(trial, aJob('clean', work, 2));
  same(trial.cleans, 1);
  await mustBeAbsent(trial, work, before);
}

async function uncleanable(trial: Trial): Promise<void> {
  const { faulty } = trial;
  for (const { work } of (await trial.offered()).filter(isOnlyCleaned)) {
    await succeed(trial, aJob('clean', work, 1));
    const programs = trial.cleanPrograms.join(', ');
    if (programs === '') continue;
    faulty.faults.withoutPrograms = true;
    const { devices } = await trial.discover();
    faulty.faults.withoutPrograms = false;
    const offered = devices.find(({ device }) => device.address === work.address)?.device;
    if (!offered || (offered.health && offered.health.state !== 'healthy')) continue;
    throw new CheckFailed(
      `It offers ${work.address} as healthy without ${programs}, which clean runs: ask ` +
        'hardware.isInstalled().',
    );
  }
}

/** Kills the agent at each write of a job in turn; `after` each time on a new host. */
async function killedAtEach(
  { fixture }: Trial,
  begin: (trial: Trial) => Promise<Job>,
  after: (trial: Trial, job: Job) => Promise<void>,
): Promise<void> {
  for (let write = 0; write < writesMax; write += 1) {
    const trial = new Trial(fixture);
    try {
      await trial.start();
      const job = await begin(trial);
      const isDead = await trial.runKilled(job, write);
      if (!isDead && write === 0) throw new CheckFailed('The job has no write.');
      if (!isDead) return;
      await trial.start();
      await after(trial, job).catch((error: Error) => {
        throw new CheckFailed(`Killed at write ${write + 1}: ${error.message}`);
      });
    } finally {
      trial.remove();
    }
  }
  throw new CheckFailed(`The job has more than ${writesMax} writes.`);
}

const toPrepare = async (trial: Trial) => aJob('prepare', await preparedHandle(trial), 1);

async function prepareKilled(trial: Trial): Promise<void> {
  await killedAtEach(trial, toPrepare, async (again, job) => {
    await succeed(again, job);
    await mustBeReady(again, job.work);
    mustHave(again, [], job.work.uuid);
    await succeed(again, aJob('clean', job.work, 2));
    await mustBeAbsent(again, job.work, []);
  });
}

async function abandoned(trial: Trial): Promise<void> {
  await killedAtEach(trial, toPrepare, async (again, { work }) => {
    await succeed(again, aJob('clean', work, 2));
    await mustBeAbsent(again, work, []);
  });
}

async function removeKilled(trial: Trial): Promise<void> {
  const toRemove = async (on: Trial) => {
    const work = await preparedHandle(on);
    await succeed(on, aJob('prepare', work, 1));
    return aJob('clean', work, 2);
  };
  await killedAtEach(trial, toRemove, async (again, job) => {
    await succeed(again, job);
    await mustBeAbsent(again, job.work, []);
  });
}

async function lateRelease(trial: Trial): Promise<void> {
  const work = await preparedHandle(trial);
  await succeed(trial, aJob('prepare', work, 1));
  await succeed(trial, aJob('clean', work, 2));
  await succeed(trial, aJob('prepare', work, 3));
  await succeed(trial, aJob('clean', work, 2));
  await mustBeReady(trial, work);
}

async function inherited(trial: Trial): Promise<void> {
  const work = await preparedHandle(trial);
  const before = trial.objects();
  await succeed(trial, aJob('prepare', work, 1));
  await succeed(trial, aJob('prepare', work, 3));
  same(trial.cleans, 1, 'clean was not called between two holders.');
  await mustBeReady(trial, work);
  mustHave(trial, before, work.uuid);
}

async function foreign(trial: Trial): Promise<void> {
  const work = await preparedHandle(trial);
  if (!trial.host.makeForeign) throw new CheckFailed('The fixture must have makeForeign().');
  trial.host.makeForeign(work);
  const before = trial.objects();
  const found = await trial.driver.find?.(work);
  if (found?.state === 'absent') throw new CheckFailed('find says that nothing is there.');
  for (const verb of ['prepare', 'clean'] as const) {
    const { status } = await trial.run(aJob(verb, work, 1));
    same([verb, status], [verb, 'FAILED']);
  }
  same(trial.cleans, 0);
  mustHave(trial, before);
}

async function bootBetween(trial: Trial): Promise<void> {
  const work = await preparedHandle(trial);
  const before = trial.objects();
  await succeed(trial, aJob('prepare', work, 1));
  await trial.boot();
  await mustBeReady(trial, work);
  mustHave(trial, before, work.uuid);
  await succeed(trial, aJob('clean', work, 2));
  await mustBeAbsent(trial, work, before);
}

async function prepareRefused(trial: Trial, code: string): Promise<void> {
  const work = await preparedHandle(trial);
  const before = trial.objects();
  setFault(trial, 'prepare', code);
  const { status, reason = '' } = await trial.run(aJob('prepare', work, 1));
  endFault(trial);
  same(status, 'FAILED');
  if (!reason.includes(code)) throw new CheckFailed(`The reason lacks ${code}: ${reason}`);
  await mustBeAbsent(trial, work, before);
  await succeed(trial, aJob('prepare', work, 3));
  await mustBeReady(trial, work);
}

async function removeRefused(trial: Trial, code: string): Promise<void> {
  const work = await preparedHandle(trial);
  const before = trial.objects();
  await succeed(trial, aJob('prepare', work, 1));
  setFault(trial, 'clean', code);
  const { status } = await trial.run(aJob('clean', work, 2));
  endFault(trial);
  if (status === 'SUCCEEDED') await mustBeAbsent(trial, work, before);
  await succeed(trial, aJob('clean', work, 2));
  await mustBeAbsent(trial, work, before);
}

async function cleanOnce(trial: Trial): Promise<void> {
  const work = await cleanedHandle(trial);
  const [objects, { devices }] = [trial.objects(), await trial.discover()];
  const { evidence: given } = await succeed(trial, aJob('clean', work, 2));
  same(Object.keys(evidence.parse(given?.[work.uuid])).length > 0, true, 'No evidence.');
  same((await trial.discover()).devices, devices);
  mustHave(trial, objects);
}

async function lateClean(trial: Trial): Promise<void> {
  const work = await cleanedHandle(trial);
  const first = await succeed(trial, aJob('clean', work, 2));
  same(await succeed(trial, aJob('clean', work, 2)), first);
  await trial.start();
  same(await succeed(trial, aJob('clean', work, 2)), first);
  same(trial.cleans, 1, 'clean was called more than once for one release.');
}

async function cleanKilled(trial: Trial): Promise<void> {
  let before: unknown;
  let objects: readonly string[] = [];
  const toClean = async (on: Trial) => {
    const work = await cleanedHandle(on);
    before = (await on.discover()).devices;
    objects = on.objects();
    return aJob('clean', work, 2);
  };
  await killedAtEach(trial, toClean, async (again, job) => {
    await succeed(again, job);
    same((await again.discover()).devices, before);
    mustHave(again, objects);
  });
}

async function cleanRefused(trial: Trial, code: string): Promise<void> {
  const work = await cleanedHandle(trial);
  const [objects, { devices }] = [trial.objects(), await trial.discover()];
  setFault(trial, 'clean', code);
  const { status } = await trial.run(aJob('clean', work, 2));
  endFault(trial);
  same(status, 'FAILED', 'A clean that could not write succeeds.');
  await trial.discover();
  await succeed(trial, aJob('clean', work, 2));
  same((await trial.discover()).devices, devices);
  mustHave(trial, objects);
}

async function sameAfterBoot(trial: Trial): Promise<void> {
  const { devices } = await trial.discover();
  await trial.boot();
  same((await trial.discover()).devices, devices);
}

async function hang(trial: Trial, verb: Verb): Promise<void> {
  const offered = (await trial.offered()).filter(verb === 'prepare' ? isPrepared : isOnlyCleaned);
  const { work } = firstOf(offered);
  const other = offered.find((each) => each.work.address !== work.address)?.work;
  if (trial.host.fault) trial.host.fault({ verb, code: 'hangs' });
  else trial.faulty.faults.hangs = [work.address, ...functionOf(work)];
  let isOver = false;
  trial.begin(aJob(verb, work, 1)).then(
    () => {
      isOver = true;
    },
    () => {},
  );
  if (!trial.host.fault)
    await inTime(trial.faulty.hung, `The driver writes nothing, or its first write`);
  await trial.discover();
  if (other) await succeed(trial, aJob(verb, other, 1));
  same(isOver, false, 'The job of the hanging device has ended.');
}

/** What an operation on the handle itself names as its device. */
function functionOf({ info }: HandleWork): string[] {
  const { domain, bus, device, function: fn } = info;
  const parsed = parsePciAddress(`${domain}:${bus}:${device}.${fn}`);
  return parsed ? [printPciAddress(parsed)] : [];
}

function setFault({ host, faulty }: Trial, verb: Verb, code: string): void {
  if (host.fault) host.fault({ verb, code });
  else faulty.faults.write = code;
}

function endFault({ host, faulty }: Trial): void {
  host.fault?.(undefined);
  faulty.faults.write = undefined;
}
