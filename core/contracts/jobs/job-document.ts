// The documents of AWS IoT jobs. Both ends parse with these schemas; no part of a document is
// used as a path or an argument before it was validated.

import * as z from 'zod';
import { checkInfo } from '#core/contracts/attach-handle.ts';
import { isHostname } from '#core/contracts/topics.ts';
import { type HostWorkKind, hostWork } from '#core/domain/host-work/host-work.ts';
import { attachedAs } from '#core/shapes/attach-handle.ts';
import { deviceAddress, driverName } from '#core/shapes/derive/fields.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { componentName } from '#core/shapes/device.ts';

/** https://docs.aws.amazon.com/general/latest/gr/iot_device_management.html */
export const jobDocumentBytesMax = 32 * 1024;

const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

/** The location of the image, and the digest and size to verify before any of it is written. */
const jobImage = z.object({
  /** The image's uuid in Glance; the region's content after programming. */
  id: z.guid(),
  url: z.url({ protocol: /^https?$/ }).max(4096),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z
    .number()
    .int()
    .min(1)
    .max(1024 ** 3),
});

/**
 * The bind that a step serves or ends: after a release of a bind, steps that serve the bind are
 * late and are refused.
 */
const ofBind = { bind_id: z.guid().optional() };

/** Where the step's device is. */
const place = {
  ...ofBind,
  driver: driverName,
  address: deviceAddress,
};

/** An attach handle as its host has reported it. */
const stepHandle = z
  .object({
    uuid: z.guid(),
    ...attachedAs.shape,
    /**
     * At its claim, or after its release. What was prepared under this epoch or a later one is not
     * cleaned: such a release is late.
     */
    epoch: z.number().int(),
  })
  .superRefine(checkInfo);
export type StepHandle = z.infer<typeof stepHandle>;

/** What the region must hold afterwards: an image that is written, or content that is checked. */
const regionContent = z.union([
  z.object({
    image: jobImage,
    /** The region's interface; an image for another interface is refused. */
    interface: z.guid().optional(),
  }),
  z.object({ bitstream_id: z.guid() }),
  z.object({ function_id: z.guid() }),
]);

/** Makes a handle ready for one holder. */
const prepareHandleStep = z.object({ kind: z.literal('prepare'), ...place, handle: stepHandle });
/** Makes a region hold an image; without an image it changes nothing, and fails unless it does. */
const prepareRegionStep = z.object({
  kind: z.literal('prepare'),
  ...place,
  /** Name of the region in the device's report. */
  region: name,
  content: regionContent,
});
/**
 * Cleans a handle after its holder, if its driver does. In any case it runs in order, so that
 * earlier work on the device has ended when it is done.
 */
const cleanStep = z.object({
  kind: z.literal('clean'),
  ...place,
  handle: stepHandle,
  /** The region that the bind no longer holds. */
  region: name.optional(),
});

/** Writes an image to a component of a device, and has the device run it. */
const componentStep = z.object({
  kind: z.literal('program'),
  ...place,
  component: componentName,
  /** What the component must show afterwards. */
  component_version: z.string().min(1).max(64),
  image: jobImage,
});

export type ComponentStep = z.infer<typeof componentStep>;
export type PrepareHandleStep = z.infer<typeof prepareHandleStep>;
export type PrepareRegionStep = z.infer<typeof prepareRegionStep>;
export type CleanStep = z.infer<typeof cleanStep>;

const prepareStep = z.union([prepareHandleStep, prepareRegionStep]);
const jobStep = z.union([prepareStep, cleanStep, componentStep]);
export type PrepareStep = z.infer<typeof prepareStep>;
export type JobStep = z.infer<typeof jobStep>;

const envelope = {
  version: z.literal(1),
  /** The host that the job is for; the agent compares it with its own name. */
  host: z.string().refine(isHostname),
  /** The boot of the host that the job is for; the agent refuses it under any other boot. */
  boot_id: z.guid(),
  /** The request that led to the job, for the logs of both ends. */
  request_id: z
    .string()
    .regex(/^req-[0-9a-f-]{36}$/)
    .optional(),
};

const documents = {
  /** Make ready what an instance is bound to. */
  bind: z.object({
    action: z.literal(hostWork.bind.jobAction),
    ...envelope,
    bind_id: z.guid(),
    steps: z.array(jobStep).min(1).max(64),
  }),
  /** Clean up behind an instance. */
  release: z.object({
    action: z.literal(hostWork.release.jobAction),
    ...envelope,
    /** The whole bind has ended: the agent refuses every later step of it. */
    bind_id: z.guid().optional(),
    steps: z.array(jobStep).min(1).max(64),
  }),
  /**
   * Make ready again, after a boot, what instances are bound to. What others made stays untouched.
   */
  reprovision: z.object({
    action: z.literal(hostWork.reprovision.jobAction),
    ...envelope,
    steps: z.array(prepareStep).max(128),
  }),
  /** Program a region, or a component of a device, for an operator. */
  program: z.object({
    action: z.literal(hostWork.program.jobAction),
    ...envelope,
    steps: z.array(z.union([componentStep, prepareRegionStep])).length(1),
  }),
  /** Report all devices at once. */
  rediscover: z.object({ action: z.literal(hostWork.rediscover.jobAction), ...envelope }),
} satisfies { [Kind in HostWorkKind]: z.ZodType<{ action: (typeof hostWork)[Kind]['jobAction'] }> };

export const jobDocument = z.discriminatedUnion('action', [
  documents.bind,
  documents.release,
  documents.reprovision,
  documents.program,
  documents.rediscover,
]);
/** The document of the jobs of one kind. */
export type JobDocumentOf<Kind extends HostWorkKind> = z.infer<(typeof documents)[Kind]>;
export type JobDocument = z.infer<typeof jobDocument>;

/**
 * `request`: the request of the job is at fault, e.g. an image for another board, not the host.
 */
export const jobFault = z.literal('request');

/** `nothing`: the host has checked that nothing of the job's target exists. */
export const jobRemains = z.literal('nothing');

/** `power-cycle`: the image is written, and the component runs it after the next power cycle. */
export const jobAwaits = z.literal('power-cycle');

/** What a driver has verified after cleaning a handle: facts by name, for people to read. */
export const evidence = z.record(
  z.string().max(64),
  z.union([z.string().max(255), z.number(), z.boolean()]),
);
export type Evidence = z.infer<typeof evidence>;

/** AWS allows at most ten pairs, of at most 128 and 1,024 characters. */
export type JobStatusDetails = {
  /** `2/3`: the second step of three. */
  readonly step?: string;
  /** Percent of the step, 0 to 100. */
  readonly percent?: string;
  /** Why the job failed or was refused. */
  readonly reason?: string;
  readonly fault?: z.infer<typeof jobFault>;
  readonly left?: z.infer<typeof jobRemains>;
  readonly awaits?: z.infer<typeof jobAwaits>;
  /** JSON: `info` by the uuids of handles whose host has chosen it. */
  readonly prepared?: string;
  /** JSON: what was verified, by the uuids of cleaned handles, or by the programmed component. */
  readonly evidence?: string;
  /** More of it, where it does not fit into one detail; so are the others. */
  readonly evidence_2?: string;
  readonly evidence_3?: string;
  readonly evidence_4?: string;
  readonly evidence_5?: string;
};

/** All that fit beside the other details. */
export const evidenceDetails = [
  'evidence',
  'evidence_2',
  'evidence_3',
  'evidence_4',
  'evidence_5',
] as const satisfies readonly (keyof JobStatusDetails)[];

/** A detail that is JSON; undefined where it is absent, or not as its form says. */
export function readDetail<T>(form: z.ZodType<T>, text: string | undefined): T | undefined {
  return form.safeParse(parseJson(text)).data;
}

/** What a host has verified, by the uuids of handles or by component. */
export function readEvidence(
  details: Readonly<Record<string, string>> | undefined,
): Record<string, Evidence> {
  const form = z.record(z.string(), evidence);
  const parts = evidenceDetails.map((name) => readDetail(form, details?.[name]));
  return Object.assign({}, ...parts);
}

/**
 * The end of a job's execution.
 * https://docs.aws.amazon.com/iot/latest/developerguide/events-jobs.html
 */
export const jobEvent = z.object({
  eventType: z.literal('JOB_EXECUTION'),
  operation: z.enum([
    'succeeded',
    'failed',
    'rejected',
    'canceled',
    'timed_out',
    'removed',
    'deleted',
  ]),
  jobId: z.string().max(64),
  thingArn: z.string(),
  timestamp: z.number(),
  statusDetails: z.record(z.string(), z.string()).optional(),
});
export type JobEvent = z.infer<typeof jobEvent>;
