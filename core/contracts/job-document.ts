// What the control plane asks of a host: the documents of AWS IoT jobs. Both ends parse with
// these; nothing of a document becomes a path or an argument before it has passed them.

import * as z from 'zod';
import { type HostWorkKind, hostWork } from '../domain/host-work.ts';
import { pciAddress } from './inventory-report.ts';
import { isHostname } from './topics.ts';

/** https://docs.aws.amazon.com/general/latest/gr/iot_device_management.html */
export const jobDocumentBytesMax = 32 * 1024;

const name = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/);

/** Where the image is, and what it must prove to be before any of it is written to a device. */
export const jobImage = z.object({
  /** The image's uuid in Glance; the region is said to hold it afterwards. */
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
 * The bind that a step serves, or ends: once the host was asked to clean up behind a bind, a step
 * that still serves it can only be a late one, and is refused.
 */
const ofBind = { bind_id: z.guid().optional() };

const programStep = z.object({
  kind: z.literal('program'),
  ...ofBind,
  address: pciAddress,
  /** Name of the region in the device's report. */
  region: name,
  image: jobImage,
  /** The region's interface; an image for another is refused. */
  region_type_uuid: z.guid().optional(),
});
export type ProgramStep = z.infer<typeof programStep>;

/** Fails unless the region holds what is expected; nothing is touched. */
const checkRegionStep = z.object({
  kind: z.literal('check-region'),
  ...ofBind,
  address: pciAddress,
  region: name,
  /** Either of these. */
  bitstream_id: z.guid().optional(),
  function_id: z.guid().optional(),
});
export type CheckRegionStep = z.infer<typeof checkRegionStep>;

const mdev = {
  ...ofBind,
  /**
   * The attach handle's epoch: at its claim, or after it was given back. A release removes no mdev
   * that was made under this epoch or a later one: such a release can only be late.
   */
  epoch: z.number().int().optional(),
  address: pciAddress,
  uuid: z.guid(),
  /** E.g. `nvidia-223`; a directory's name in sysfs. */
  type: name,
};

const createMdevStep = z.object({ kind: z.literal('create-mdev'), ...mdev });
const removeMdevStep = z.object({ kind: z.literal('remove-mdev'), ...mdev });
export type CreateMdevStep = z.infer<typeof createMdevStep>;
export type RemoveMdevStep = z.infer<typeof removeMdevStep>;

/** Does nothing. It runs in its turn, so earlier work on the device has ended when it is done. */
const settleStep = z.object({
  kind: z.literal('settle'),
  ...ofBind,
  address: pciAddress,
  /** Which the bind holds no longer. */
  region: name.optional(),
});

export const jobStep = z.discriminatedUnion('kind', [
  programStep,
  checkRegionStep,
  createMdevStep,
  removeMdevStep,
  settleStep,
]);
export type JobStep = z.infer<typeof jobStep>;

const envelope = {
  version: z.literal(1),
  /** The host that the job is for; the agent compares. */
  host: z.string().refine(isHostname),
  /** The boot of the host that it was decided for; under any other it is refused. */
  boot_id: z.guid(),
  /** The request that led here, for both ends' logs. */
  request_id: z
    .string()
    .regex(/^req-[0-9a-f-]{36}$/)
    .optional(),
};

const documents = {
  /** Make ready what an instance was promised. */
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
    /** The bind has ended as a whole: the agent refuses every later step of it. */
    bind_id: z.guid().optional(),
    steps: z.array(jobStep).min(1).max(64),
  }),
  /**
   * Make ready again, after a boot, what instances were promised. Unmarked mdevs stay untouched.
   */
  reprovision: z.object({
    action: z.literal(hostWork.reprovision.jobAction),
    ...envelope,
    steps: z
      .array(z.discriminatedUnion('kind', [createMdevStep, programStep, checkRegionStep]))
      .max(128),
  }),
  /** An operator programs a region. */
  program: z.object({
    action: z.literal(hostWork.program.jobAction),
    ...envelope,
    steps: z.array(programStep).length(1),
  }),
  /** Report now, and everything. */
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
 * `request`: the job failed for what it asked, e.g. an image for another board, not for its host.
 */
export const jobFault = z.literal('request');

/** `nothing`: the host has looked, and nothing that the job was to make is there. */
export const jobRemains = z.literal('nothing');

/** AWS takes at most ten pairs, of at most 128 and 1,024 characters. */
export const jobStatusDetails = z.object({
  /** `2/3`: the second step of three. */
  step: z.string().max(16).optional(),
  /** 0 to 100, of the step. */
  percent: z.string().max(3).optional(),
  /** Why it failed, or was refused. */
  reason: z.string().max(1024).optional(),
  fault: jobFault.optional(),
  left: jobRemains.optional(),
});
export type JobStatusDetails = z.infer<typeof jobStatusDetails>;

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
