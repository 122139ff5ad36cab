// The bodies of queue messages. Producers and consumers both parse with these.

import * as z from 'zod';
import { type EventType, eventDetails } from '#core/contracts/events.ts';
import type { QueuedWorkKind } from '#core/domain/host-work/host-work.ts';

const uuid = z.guid();

/** The binding of an instance was resolved: notify Nova. Or it began: look at its server. */
export const novaEventMessage = z.object({
  instance_uuid: uuid,
  bind_id: uuid,
  is_look: z.literal(true).optional(),
  /** The request that led to the message; every log line carries it. */
  request_id: z.string().optional(),
});
export type NovaEventMessage = z.infer<typeof novaEventMessage>;

/** Placement may have lost the tree of this host: restore it. Or compare each of its devices. */
const hostSyncMessage = z.object({
  hostname: z.string().min(1).max(128),
  is_comparison: z.literal(true).optional(),
});

/** The device of this provider has changed: sync it with Placement. */
const deviceSyncMessage = z.object({
  provider_uuid: uuid,
  request_id: z.string().optional(),
});

export const providerSyncMessage = z.union([hostSyncMessage, deviceSyncMessage], {
  error: 'provider_uuid or hostname is needed',
});
export type ProviderSyncMessage = z.infer<typeof providerSyncMessage>;

/** An event for EventBridge, whose schemas check the detail again: see events.ts. */
export const lateEventMessage = z.object({
  type: z.enum(Object.keys(eventDetails) as EventType[]),
  at: z.number().int(),
  detail: z.record(z.string(), z.unknown()),
});

const request_id = z.string().optional();
/** The host was sent the work by a message; unless it has ended, create the job. */
const was_sent = z.literal(true).optional();

const hostJobMessages = {
  bind: z.object({
    kind: z.literal('bind'),
    instance_uuid: uuid,
    bind_id: uuid,
    was_sent,
    request_id,
  }),
  release: z.object({ kind: z.literal('release'), release_id: uuid, was_sent, request_id }),
  reprovision: z.object({ kind: z.literal('reprovision'), job_uuid: uuid, request_id }),
  program: z.object({ kind: z.literal('program'), program_id: uuid, request_id }),
} satisfies { [Kind in QueuedWorkKind]: z.ZodType<{ kind: Kind }> };

/** Host work has been stored: create its job. */
export const hostJobMessage = z.discriminatedUnion('kind', [
  hostJobMessages.bind,
  hostJobMessages.release,
  hostJobMessages.reprovision,
  hostJobMessages.program,
]);
export type HostJobMessage = z.infer<typeof hostJobMessage>;
export type HostJobMessageOf<Kind extends QueuedWorkKind> = z.infer<(typeof hostJobMessages)[Kind]>;

/**
 * The envelope that every IoT rule adds to a payload; see rules.ts. `received_at` in ms since
 * 1970.
 */
export const ruleEnvelope = z.object({
  thing: z.string().min(1).max(128),
  topic: z.string(),
  received_at: z.number().int(),
  payload: z.base64(),
});
export type RuleEnvelope = z.infer<typeof ruleEnvelope>;

/**
 * AWS IoT lifecycle event. Events arrive in any order; sessions and versions order them.
 * https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html
 */
export const presenceEvent = z.object({
  clientId: z.string(),
  timestamp: z.number().int(),
  eventType: z.enum(['connected', 'disconnected']),
  sessionIdentifier: z.string().optional(),
  versionNumber: z.number().int().optional(),
  disconnectReason: z.string().optional(),
  /** Id of the certificate of the connection. */
  principalIdentifier: z.string().optional(),
});
export type PresenceEvent = z.infer<typeof presenceEvent>;
