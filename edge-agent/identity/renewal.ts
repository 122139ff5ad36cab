// Renews the host's certificate: a new key, a request for it, and a new connection with both. The
// old certificate stays valid until the control plane has seen the host connect with the new one.

import { type KeyObject, X509Certificate } from 'node:crypto';
import type { Session } from '#agent/broker/mqtt.ts';
import type { Clock } from '#agent/clock.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { certificateRequest } from '#core/contracts/identity/certificate-request.ts';
import {
  type CertificateAnswer,
  type CertificateMessage,
  certificateAnswer,
} from '#core/contracts/identity/renewal.ts';
import { certificateRequestTopic, certificateTopic } from '#core/contracts/topics.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import type { Candidate, Identity, StoredIdentity } from './stored-identity.ts';

const dayMs = 24 * 60 * 60 * 1000;
/** The consumer of requests may have to try again, after a minute each time. */
const answerMsMax = 180_000;
/** In report intervals: ten minutes by default, so that a fleet does not renew at once. */
const lookEvery = 10;
/** In looks: an hour by default between two requests. */
const askEvery = 6;

interface RenewalDeps {
  readonly stage: string;
  readonly thing: string;
  readonly intervalSeconds: number;
  /** Without it, no certificate is renewed. */
  readonly rotateAfterDays?: number | undefined;
  readonly stored: StoredIdentity;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

export interface Renewal {
  /** Connects with the newest identity that the broker takes, and looks after it. */
  open(connect: (identity: Identity) => Promise<Session>, stop: AbortSignal): Promise<Session>;
}

export function createRenewal(deps: RenewalDeps): Renewal {
  const { stored, clock, random, log } = deps;
  const lookMs = lookEvery * deps.intervalSeconds * 1000;
  let askedMs: number | undefined;

  async function open(connect: (identity: Identity) => Promise<Session>, stop: AbortSignal) {
    const candidates = await stored.candidates();
    for (const [at, candidate] of candidates.entries()) {
      const session = await connect(candidate.identity).catch((error: unknown) => {
        if (stop.aborted || at === candidates.length - 1) throw error;
        const reason = reasonOf(error);
        log.warn('Not connected with this certificate', { certificate: candidate.kind, reason });
      });
      if (!session) continue;
      const used = candidate.kind === 'next' ? await adopt(candidate) : candidate;
      void lookAfter(session, used);
      return session;
    }
    throw new Error('no identity');
  }

  /** A failure is repaired by the next connection, which begins with the same identity. */
  async function adopt({ identity }: Candidate): Promise<Candidate> {
    const nowMs = clock.wallMs();
    try {
      await stored.adoptNext(nowMs);
      log.info('Certificate renewed', { certificate: idOf(identity.certificate) });
    } catch (error) {
      log.error('Identity not stored', { reason: reasonOf(error) });
    }
    return { identity, kind: 'current', renewedAtMs: nowMs, isAnnounced: false };
  }

  /** Never rejects; ends with the session. */
  async function lookAfter(session: Session, used: Candidate): Promise<void> {
    let isAnnounced = used.kind === 'installed' || used.isAnnounced;
    await clock.sleep(random() * lookMs, isAnnounced ? session.lost : AbortSignal.abort());
    while (!session.lost.aborted) {
      try {
        if (!isAnnounced) await announce(session, used);
        isAnnounced = true;
        const nowMs = clock.monotonicMs();
        const isAsked = askedMs !== undefined && nowMs - askedMs < askEvery * lookMs;
        if (!isAsked && isDue(used, deps.rotateAfterDays, clock.wallMs())) {
          askedMs = nowMs;
          await renew(session);
        }
      } catch (error) {
        if (!session.lost.aborted) log.warn('Certificate not renewed', { reason: reasonOf(error) });
      }
      await clock.sleep(lookMs, session.lost);
    }
  }

  async function announce(session: Session, { identity }: Candidate): Promise<void> {
    await say(session, { in_use: idOf(identity.certificate) });
    await stored.markAnnounced();
  }

  async function renew(session: Session): Promise<void> {
    const key = await stored.nextKey();
    const answered = nextAnswer(session);
    await session.subscribe([certificateTopic(deps.stage, deps.thing)]);
    await say(session, { csr: certificateRequest(deps.thing, key) });
    const answer = await answered;
    if ('refused' in answer) throw new Error(answer.refused);
    refuseWrong(answer.certificate, key, clock.wallMs());
    await stored.storeNext(answer.certificate);
    log.info('Certificate received', { certificate: idOf(answer.certificate) });
    // The next connection uses it.
    await session.end();
  }

  async function say(session: Session, message: CertificateMessage): Promise<void> {
    const topic = certificateRequestTopic(deps.stage, deps.thing);
    await session.publish(topic, JSON.stringify(message));
  }

  function nextAnswer(session: Session): Promise<CertificateAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<CertificateAnswer>();
    session.onMessage((topic, payload) => {
      if (topic !== certificateTopic(deps.stage, deps.thing)) return;
      const read = certificateAnswer.safeParse(parseJson(payload.toString()));
      if (read.success) resolve(read.data);
      else reject(new Error(`the answer is unreadable: ${read.error.message}`));
    });
    const late = () => reject(new Error('the control plane has not answered'));
    clock.sleep(answerMsMax, session.lost).then(late);
    // Rejected also if the request itself fails.
    promise.catch(() => {});
    return promise;
  }

  return { open };
}

/** Before it ends, with a third of its time left, or when it is old. */
export function isDue(
  { identity, renewedAtMs = 0 }: Pick<Candidate, 'identity' | 'renewedAtMs'>,
  rotateAfterDays: number | undefined,
  nowMs: number,
): boolean {
  if (rotateAfterDays === undefined) return false;
  const certificate = new X509Certificate(identity.certificate);
  const [fromMs, endMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const ageMs = nowMs - Math.max(fromMs, renewedAtMs);
  return ageMs >= rotateAfterDays * dayMs || endMs - nowMs < (endMs - fromMs) / 3;
}

function refuseWrong(pem: string, key: KeyObject, nowMs: number): void {
  const certificate = new X509Certificate(pem);
  if (!certificate.checkPrivateKey(key)) throw new Error('the new certificate is of another key');
  if (Date.parse(certificate.validTo) <= nowMs) throw new Error('the new certificate has expired');
}

/** AWS's id of a certificate. */
function idOf(pem: string): string {
  return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
}
