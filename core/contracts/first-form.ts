// Jobs in the form of agents and clouds of 0.1, for as long as a cloud may meet an agent of the
// version before: it had five kinds of steps, of mdevs and of regions, and named no driver.

import * as z from 'zod';
import { pciAddress } from '../shapes/fields.ts';
import type { ReportedHandle } from './attach-handle.ts';
import { type JobDocument, type JobStep, jobImage } from './job-document.ts';

/**
 * What a host says of the form that its agent speaks; an agent of 0.1 says nothing. From 3 on it
 * takes work messages.
 */
export const currentForm = 3;

const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);
const common = { bind_id: z.guid().optional(), address: pciAddress };
const mdev = { ...common, uuid: z.guid(), type: name, epoch: z.number().int().optional() };

const firstFormStep = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('program'),
    ...common,
    region: name,
    image: jobImage,
    region_type_uuid: z.guid().optional(),
  }),
  z.object({
    kind: z.literal('check-region'),
    ...common,
    region: name,
    bitstream_id: z.guid().optional(),
    function_id: z.guid().optional(),
  }),
  z.object({ kind: z.literal('create-mdev'), ...mdev }),
  z.object({ kind: z.literal('remove-mdev'), ...mdev }),
  z.object({ kind: z.literal('settle'), ...common, region: name.optional() }),
]);
type FirstFormStep = z.infer<typeof firstFormStep>;

/** An agent of 0.1 makes each mdev at its bind, and removes it after; it does not say so. */
export function withCareOfFirstForm(handle: ReportedHandle): ReportedHandle {
  return handle.type === 'MDEV' ? { ...handle, prepare: 'at-bind', clean_seconds: 300 } : handle;
}

/** The steps alone: the rest of a document is the same in both forms. */
const firstFormSteps = z.object({ steps: z.array(firstFormStep).max(128) });

/** The same document for an agent of 0.1. */
export function toFirstForm(document: JobDocument): unknown {
  return 'steps' in document
    ? { ...document, steps: (document.steps as JobStep[]).map(toFirstFormStep) }
    : document;
}

function toFirstFormStep(step: JobStep): FirstFormStep {
  const { address, bind_id } = step;
  const same = { address, ...(bind_id && { bind_id }) };
  if ('content' in step) {
    const { region, content } = step;
    if (!('image' in content)) return { kind: 'check-region', ...same, region, ...content };
    const { image, interface: regionType } = content;
    const type = regionType && { region_type_uuid: regionType };
    return { kind: 'program', ...same, region, image, ...type };
  }
  const { handle } = step;
  const type = handle?.info.asked_type;
  if (handle?.type === 'MDEV' && type !== undefined) {
    const kind = step.kind === 'prepare' ? 'create-mdev' : 'remove-mdev';
    return { kind, ...same, uuid: handle.uuid, type, epoch: handle.epoch };
  }
  const region = 'region' in step ? step.region : undefined;
  return { kind: 'settle', ...same, ...(region && { region }) };
}

/** A step of 0.1 as this agent runs it; undefined for a document that is in no known form. */
export function fromFirstForm(document: unknown): unknown {
  const parsed = firstFormSteps.safeParse(document);
  if (!parsed.success) return undefined;
  return { ...(document as object), steps: parsed.data.steps.map(fromFirstFormStep) };
}

function fromFirstFormStep(step: FirstFormStep): JobStep {
  const { address, bind_id } = step;
  const same = { address, ...(bind_id && { bind_id }) };
  switch (step.kind) {
    case 'program': {
      const { region, image, region_type_uuid: type } = step;
      return {
        kind: 'prepare',
        ...same,
        region,
        content: { image, ...(type && { interface: type }) },
      };
    }
    case 'check-region': {
      const { region, bitstream_id, function_id = '' } = step;
      const content = bitstream_id ? { bitstream_id } : { function_id };
      return { kind: 'prepare', ...same, region, content };
    }
    case 'settle':
      return { kind: 'clean', ...same, ...(step.region && { region: step.region }) };
    default: {
      const { uuid, type, epoch = 0 } = step;
      const handle = { uuid, type: 'MDEV' as const, info: { asked_type: type }, epoch };
      return step.kind === 'create-mdev'
        ? { kind: 'prepare', ...same, handle }
        : { kind: 'clean', ...same, handle };
    }
  }
}
