// A host: what its agent reports of it, and what is stored beside its devices.

import * as z from 'zod';
import { driverName, optionalText, shortText, texts } from './derive/fields.ts';
import { offeredCard } from './reported/offered-card.ts';
import { attachTypes } from './vocabulary/words.ts';

/** How far the host's clock is from the control plane's, as its agent measures it. */
export const clockSkew = z.object({
  /** Negative for a clock that is behind. */
  ahead_ms: z.int(),
  /** The measurement is wrong by this much at most. */
  within_ms: z.int().min(0),
});

const domainIs = 'must be at most 64 letters, digits, ".", "_" and "-", a letter or digit first';
export const failureDomain = z
  .string(domainIs)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, domainIs);

/** Reported and stored as it is; the API shows it to operators. */
export const hostFacts = z.object({
  agent_version: z.string().max(64),
  /** Releases of nova-compute; absent or empty: unknown. */
  nova_versions: z.array(z.string().max(32)).max(4).exactOptional(),
  /** What fails together with other hosts, such as a rack, by the settings of the agent. */
  failure_domain: failureDomain.exactOptional(),
});

/** A device that the settings of its host name, and that the host does not offer. */
export const notOffered = z.object({
  address: z.string().max(64),
  driver: driverName,
  /** A clause that completes "The device at <address> ...". */
  reason: shortText,
});

export const storedNotOffered = z.object({ not_offered: z.array(notOffered) });

/** The agent's connection, as AWS IoT's lifecycle events report it. */
export const presence = z.object({
  is_connected: z.boolean(),
  session: optionalText,
  version: z.number().exactOptional(),
  /** Id of the certificate that the agent connected with. */
  certificate: optionalText,
  /** Grows with each event that is stored, and is its time at least; ms since 1970. */
  order: z.number().exactOptional(),
  /** Time of the event, ISO 8601. */
  at: z.string(),
  /** When the connection before this one ended; ISO 8601. Absent if that is not known. */
  ended_before: optionalText,
});

/** Consecutive jobs that the host could not do. */
export const failedJobs = z.object({
  count: z.number(),
  /** ISO 8601. */
  last_at: z.string(),
  /** Why the last job failed. */
  reason: z.string(),
});

/** Who took the host out of service, and why. */
export const drain = z.object({
  by: z.string(),
  /** ISO 8601. */
  at: z.string(),
  request_id: optionalText,
  reason: z.string(),
  /** When an operator means to resume it; ISO 8601. Nothing resumes it by itself. */
  until: optionalText,
});

/** A boot that another boot of the same host has replaced. */
export const earlierBoot = z.object({
  boot_id: z.string(),
  /** Time of its first report; ISO 8601. */
  booted_at: optionalText,
  /** Sequence number of its last applied report. */
  sequence: z.number(),
  /** When the broker received that report, in ms. Absent where it is not known. */
  last_received_ms: z.number().exactOptional(),
  /** When the broker received the first report of the next boot, in ms. */
  replaced_at_ms: z.number(),
  /** Sequence number of that report. Agents number reports by their clock. */
  replaced_by_sequence: z.number(),
});

/** A boot that has reported while the host's identity is in conflict. */
export const seenBoot = z.object({
  boot_id: z.string(),
  booted_at: optionalText,
  sequence: z.number(),
  /** When the broker received its last report; ISO 8601. */
  last_at: z.string(),
});

/** Reports that may be applied without waiting, as of a time in ms. */
export const pace = z.object({ left: z.number(), at_ms: z.number() });

/**
 * A device with an invalid description, until the host describes it with another digest; or whose
 * card is another one than before.
 */
const refusedDevice = z.object({
  /** Empty while the host does not report the device. */
  digest: z.string(),
  reason: z.string(),
  driver: optionalText,
  /** Digest of the device that has what this one may not have: asked again when it changes. */
  holder_digest: optionalText,
  /** What was offered at the address before: another card is refused until it is confirmed. */
  card: offeredCard.exactOptional(),
});

/** What each applied report replaces as a whole. */
export const reportedHost = z.object({
  ...hostFacts.partial().shape,
  /** What its hypervisor takes, in the order of the types; absent: the deployment's setting. */
  attach_types: z.array(z.enum(attachTypes)).exactOptional(),
  last_report_at: optionalText,
  /** That its last report names; absent: none. */
  failed_drivers: z.array(z.string()).exactOptional(),
  clock: clockSkew.exactOptional(),
  /** Devices of the newest manifest that no report has described yet: address → digest. */
  wanted: texts.default({}),
  /** Address → why the device is refused. */
  refused: z.record(z.string(), refusedDevice).default({}),
  /** Limits how often its reports are applied. */
  pace: pace.exactOptional(),
});

/** A host that has never reported has at most a lease or a presence. */
export const storedHost = z.object({
  boot_id: optionalText,
  /** Grows with each boot that the agent reports. */
  epoch: z.number().default(0),
  /** Sequence number of the last report that was applied. */
  sequence: z.number().default(-1),
  last_received_ms: z.number().default(0),
  booted_at: optionalText,
  ...reportedHost.shape,
  reprovisioning: z.literal(true).exactOptional(),
  presence: presence.exactOptional(),
  failed_jobs: failedJobs.exactOptional(),
  /** The latest first. */
  earlier_boots: z.array(earlierBoot).default([]),
  /** May have ended: see `drainOf`. */
  drain: drain.exactOptional(),
  conflict_since: optionalText,
  conflict_boots: z.array(seenBoot).default([]),
  /** When an operator revoked its certificates; ISO 8601. Absent once it is enrolled again. */
  revoked_at: optionalText,
});

export const storedLease = z.object({ lease_holder: optionalText, lease_until: optionalText });

/** Providers of a host's devices that Placement lacks. */
const lostProviders = z.object({
  /** When they were first missed; ISO 8601. */
  since: z.string(),
  count: z.number(),
  /** Placement has no provider of the compute node either: nova-compute creates it. */
  is_node_lost: z.boolean(),
});

/** What changes seldom of a host; hosts are listed by it. */
export const hostSummary = z.object({
  hostname: z.string(),
  /** When its agent first connected or reported; ISO 8601. */
  first_seen: z.string(),
  agent_version: optionalText,
  boot_id: optionalText,
  booted_at: optionalText,
  presence: z.object({ is_connected: z.boolean(), since: z.string() }).exactOptional(),
  conflict_since: optionalText,
  /** How far its clock is ahead of ours, in whole seconds; negative if it is behind. */
  clock_ahead_seconds: z.number().exactOptional(),
  /** Devices that its last report named. */
  devices: z.number().default(0),
  /** Devices that its settings name and that it does not offer. */
  not_offered: z.number().default(0),
  lost_providers: lostProviders.exactOptional(),
});
