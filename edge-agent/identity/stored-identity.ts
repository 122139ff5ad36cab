// The identity that the agent has renewed by itself: key and certificate in one file of its state,
// so that both change by one rename.
//
// INVARIANTS
// - A key is stored before a certificate for it is requested, and the current identity stays until
//   the host has connected with the next one.
// - The file is of one installed certificate: an operator who installs another one replaces it.

import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import type { Log } from '#agent/log.ts';
import type { StateFiles } from '#agent/state/state-files.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

const file = 'identity.json';

const identity = z.object({ key: z.string(), certificate: z.string() });
/** PEM. */
export type Identity = z.infer<typeof identity>;

const renewed = identity.extend({
  renewedAtMs: z.number(),
  /** The control plane was asked to remove the older certificates. */
  isAnnounced: z.boolean(),
});

const stored = z.object({
  version: z.literal(1),
  /** SHA-256 of the certificate that an operator has installed. */
  installed: z.string(),
  current: renewed.optional(),
  next: z.object({ key: z.string(), certificate: z.string().optional() }).optional(),
});
type Stored = z.infer<typeof stored>;

/** An identity with which the agent tries to connect. */
export interface Candidate {
  readonly identity: Identity;
  readonly kind: 'next' | 'current' | 'installed';
  readonly renewedAtMs?: number;
  readonly isAnnounced?: boolean;
}

export interface StoredIdentity {
  /** The first one that connects is the host's. */
  candidates(): Promise<readonly [Candidate, ...Candidate[]]>;
  /** The next key; the same one until the host has connected with it. */
  nextKey(): Promise<KeyObject>;
  storeNext(certificate: string): Promise<void>;
  /** The host has connected with the next identity, which becomes the current one. */
  adoptNext(nowMs: number): Promise<void>;
  markAnnounced(): Promise<void>;
}

interface InstalledFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

export function openStoredIdentity(
  files: StateFiles,
  installed: InstalledFiles,
  log: Log,
): StoredIdentity {
  async function read(): Promise<Stored & { readonly own: Identity }> {
    const own = {
      key: await readFile(installed.keyFile, 'utf8'),
      certificate: await readFile(installed.certificateFile, 'utf8'),
    };
    const fresh = { version: 1, installed: fingerprint(own.certificate), own } as const;
    const text = await files.read(file);
    if (text === undefined) return fresh;
    const parsed = stored.safeParse(parseJson(text));
    if (!parsed.success) {
      const kept = await files.keepAside(file);
      log.error('Identity unreadable', { kept, reason: parsed.error.message });
      return fresh;
    }
    return parsed.data.installed === fresh.installed ? { ...parsed.data, own } : fresh;
  }

  async function write(values: Stored): Promise<void> {
    await files.replace(file, JSON.stringify(stored.parse(values)));
  }

  return {
    async candidates() {
      const { own, current, next } = await read();
      const last: Candidate = current
        ? { ...current, kind: 'current', identity: current }
        : { kind: 'installed', identity: own };
      const certificate = next?.certificate;
      const isProven = current === undefined || current.isAnnounced;
      const older: Candidate[] = isProven ? [] : [{ kind: 'installed', identity: own }];
      if (next === undefined || certificate === undefined) return [last, ...older];
      return [{ kind: 'next', identity: { key: next.key, certificate } }, last, ...older];
    },
    async nextKey() {
      const values = await read();
      if (values.next) return createPrivateKey(values.next.key);
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      await write({ ...values, next: { key } });
      return privateKey;
    },
    async storeNext(certificate) {
      const values = await read();
      if (!values.next) throw new Error('the certificate was installed anew meanwhile');
      await write({ ...values, next: { ...values.next, certificate } });
    },
    async adoptNext(nowMs) {
      const { next, ...values } = await read();
      if (next?.certificate === undefined) return;
      const { key, certificate } = next;
      const current = { key, certificate, renewedAtMs: nowMs, isAnnounced: false };
      await write({ ...values, current });
    },
    async markAnnounced() {
      const values = await read();
      if (!values.current) return;
      await write({ ...values, current: { ...values.current, isAnnounced: true } });
    },
  };
}

function fingerprint(certificate: string): string {
  return new X509Certificate(certificate).fingerprint256;
}
