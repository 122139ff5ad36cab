// Programs a component of a device: its shell, or its firmware. The driver writes; this file keeps
// how far it has come, so that a crash or a power cut in any step is resumed, and reads back what
// the component runs.

import type { Activation, Components } from '#agent/drivers/contract/driver.ts';
import type { Downloads } from '#agent/images/download.ts';
import { reasonOf } from '#agent/log.ts';
import type { ComponentRecord, ComponentRecords } from '#agent/state/component-records.ts';
import type { ComponentStep, Evidence } from '#core/contracts/jobs/job-document.ts';
import { type FindDeps, findDevice, StepFailed, StepRefused } from './find-device.ts';
import { JobStopped } from './prepare-region.ts';

interface ComponentContext extends FindDeps {
  readonly downloads: Downloads;
  readonly components: ComponentRecords;
  /** Checked while the step has not touched the device. */
  readonly stop: AbortSignal;
  readonly claim: (kind: 'program') => Promise<void>;
  readonly onProgress: (percent: number) => void;
}

interface Programmed {
  readonly evidence: Evidence;
  readonly awaits?: 'power-cycle';
}

/** @throws StepFailed, JobStopped, ImageRefused, or the driver's error */
export async function programComponent(
  context: ComponentContext,
  step: ComponentStep,
): Promise<Programmed> {
  const { driver } = await findDevice(context, step);
  const verbs = driver.components;
  if (!verbs) throw new StepRefused(`Driver ${driver.name} programs no components.`);
  const { address, component } = step;
  const shown = await readVersion(verbs, step);
  const record = context.components.read(address, component);
  const isSame = record?.sha256 === step.image.sha256;
  if (isSame && record.step === 'power-cycle' && record.failed === undefined) {
    return await afterPowerCycle(context, step, record, shown);
  }
  // Without a record nothing was left half written.
  if (!record && shown === step.component_version) return ended(step, shown, shown);
  return await write(context, verbs, step, isSame ? record.before : shown);
}

async function readVersion(verbs: Components, step: ComponentStep): Promise<string> {
  const components = await verbs.list(step.address);
  const reported = components.find(({ name }) => name === step.component);
  if (reported) return reported.version;
  const names = components.map(({ name }) => name).join(', ') || 'none';
  throw new StepRefused(`The device has no component ${step.component}, but ${names}.`);
}

/** A boot need not have been a power cycle: what the component shows decides. */
async function afterPowerCycle(
  { components }: ComponentContext,
  step: ComponentStep,
  record: ComponentRecord,
  shown: string,
): Promise<Programmed> {
  const { address, component, component_version: wanted } = step;
  if (shown === wanted) {
    await components.keep(address, component, undefined);
    return ended(step, record.before, shown);
  }
  if (shown === record.before) return { ...ended(step, shown, shown), awaits: 'power-cycle' };
  const failed = `it shows version ${shown}, not ${wanted}`;
  await components.keep(address, component, { ...record, step: 'read back', failed });
  throw new StepFailed(`read back of ${component}: ${failed}`);
}

async function write(
  context: ComponentContext,
  verbs: Components,
  step: ComponentStep,
  before: string,
): Promise<Programmed> {
  const { downloads, stop, clock, onProgress } = context;
  const { address, component, component_version: version, image } = step;
  const since = new Date(clock.wallMs()).toISOString();
  const begin = (name: ComponentRecord['step'], failed?: string) =>
    context.components.keep(address, component, {
      sha256: image.sha256,
      version,
      before,
      step: name,
      since,
      ...(failed !== undefined && { failed }),
    });
  let begun: ComponentRecord['step'] | undefined;
  const inStep = async <T>(name: ComponentRecord['step'], work: () => Promise<T>): Promise<T> => {
    await begin(name);
    begun = name;
    return await work();
  };
  try {
    return await downloads.withImage(image, stop, async (imagePath) => {
      const target = { address, component, imagePath, version };
      await verbs.check(target);
      if (stop.aborted) throw new JobStopped();
      await context.claim('program');
      const noteProgress = (percent: number) => {
        context.components.noteProgress(address, component, percent);
        onProgress(percent);
      };
      await inStep('write', () => verbs.write(target, noteProgress));
      const activation: Activation = await inStep('activate', () => verbs.activate(target));
      if (activation === 'power-cycle') {
        await begin('power-cycle');
        return { ...ended(step, before, before), awaits: 'power-cycle' };
      }
      const shown = await inStep('read back', () => readVersion(verbs, step));
      if (shown !== version) throw new Error(`it shows version ${shown}, not ${version}`);
      await context.components.keep(address, component, undefined);
      return ended(step, before, shown);
    });
  } catch (error) {
    if (begun === undefined) throw stop.aborted ? new JobStopped() : error;
    const reason = reasonOf(error);
    await begin(begun, reason);
    throw new StepFailed(`${begun} of ${component}: ${reason}`);
  }
}

function ended({ image }: ComponentStep, before: string, version: string): Programmed {
  return { evidence: { version, before, sha256: image.sha256 } };
}
