// Validates a job document and returns the job, or the reason why the agent refuses it. No part
// of a document is used as a path, an argument or a request before it was validated here.

import { type JobDocument, type JobStep, jobDocument } from '#core/contracts/jobs/job-document.ts';
import { readHostname } from '#core/contracts/topics.ts';

const formVersion = 1;

/**
 * The size limit of an MQTT message; AWS inserts presigned URLs after it has checked its own
 * limit.
 */
const documentBytesMax = 128 * 1024;

export interface Recipient {
  readonly thing: string;
  readonly bootId: string;
}

export interface Job {
  readonly action: JobDocument['action'];
  /** The bind that a `prepare` serves, or that a `release` ends as a whole. */
  readonly bindId?: string;
  /** The request that led to the job; only for the log. */
  readonly requestId?: string;
  readonly steps: readonly JobStep[];
}

type ReadJob = { readonly job: Job } | { readonly refused: string };

export function readJob(document: unknown, { thing, bootId }: Recipient): ReadJob {
  const bytes = Buffer.byteLength(JSON.stringify(document) ?? '');
  if (bytes > documentBytesMax)
    return { refused: `The document has ${bytes} bytes; at most ${documentBytesMax} are allowed.` };
  const version = (document as { version?: unknown } | null | undefined)?.version;
  if (typeof version === 'number' && version !== formVersion) {
    return {
      refused: `The document has form ${version}; this agent understands ${formVersion} only.`,
    };
  }
  const parsed = jobDocument.safeParse(document);
  if (!parsed.success) return { refused: describeFaults(parsed.error.issues) };
  const { host, boot_id, action, request_id: requestId } = parsed.data;
  if (host !== readHostname(thing)) {
    return { refused: `The document is for ${host}; this is ${readHostname(thing)}.` };
  }
  if (boot_id.toLowerCase() !== bootId) {
    return { refused: 'The document is for another boot of this host.' };
  }
  const bindId = 'bind_id' in parsed.data ? parsed.data.bind_id?.toLowerCase() : undefined;
  const steps = 'steps' in parsed.data ? parsed.data.steps.map(normal) : [];
  return {
    job: { action, ...(bindId && { bindId }), ...(requestId && { requestId }), steps },
  };
}

/** Uuids in the kernel's spelling, whatever the document's. */
function normal(step: JobStep): JobStep {
  const bind = step.bind_id && { bind_id: step.bind_id.toLowerCase() };
  if (!('handle' in step)) return { ...step, ...bind };
  const handle = { ...step.handle, uuid: step.handle.uuid.toLowerCase() };
  return { ...step, ...bind, handle };
}

function describeFaults(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const faults = issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  return `The document is malformed: ${faults.join('; ')}`;
}
