// A fake AWS IoT registry: things, their certificates, and who may connect. A certificate that the
// local authority signed is registered at its first use, as AWS does it for an authority of the
// account ("just-in-time").

import { type KeyObject, X509Certificate } from 'node:crypto';
import { RequestInvalid, readRequest } from '#core/contracts/identity/read-request.ts';
import { computeNodeName } from '#core/contracts/topics.ts';
import { JobsError } from '#local/aws/iot-jobs/errors.ts';
import { type Row, Sqlite } from '#local/aws/sqlite.ts';

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, type TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS attributes (
    thing TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (thing, name)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS certificates (
    id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    pem TEXT NOT NULL,
    thing TEXT,
    policy TEXT,
    created_at INTEGER NOT NULL
  ) STRICT;
`;

/** A deleted certificate is kept, or its next use would register it again. */
type CertificateStatus = 'ACTIVE' | 'INACTIVE' | 'REVOKED' | 'DELETED';

export interface RegisteredCertificate {
  readonly id: string;
  readonly status: CertificateStatus;
  readonly pem: string;
  readonly thing?: string;
  readonly policy?: string;
  readonly createdAtMs: number;
}

interface RegistryOptions {
  readonly stage: string;
  /** SQLite file; without it all is in memory. */
  readonly file?: string;
  /** Signs a certificate for a client; PEM. */
  readonly sign: (commonName: string, publicKey: KeyObject) => string;
  readonly now?: () => number;
}

export class ThingRegistry {
  readonly stage: string;
  readonly #sqlite: Sqlite;
  readonly #sign: RegistryOptions['sign'];
  readonly #now: () => number;
  #ended = (_certificateId: string): void => {};

  constructor({ stage, file, sign, now = Date.now }: RegistryOptions) {
    this.stage = stage;
    this.#now = now;
    this.#sqlite = new Sqlite(file, schema);
    this.#sign = sign;
  }

  close(): void {
    this.#sqlite.close();
  }

  /** Sets a listener for certificates that may no longer connect. */
  onEnded(listener: (certificateId: string) => void): void {
    this.#ended = listener;
  }

  /** Whether a client with this certificate may connect as the thing. */
  admits(thing: string, der: Buffer): boolean {
    const shown = new X509Certificate(der);
    const id = certificateId(shown);
    if (this.#find(id) === undefined) {
      const type = computeNodeName(this.stage);
      this.#sqlite.run('INSERT OR IGNORE INTO things VALUES (:thing, :type)', { thing, type });
      this.#insert(id, shown.toString(), { status: 'ACTIVE', thing, policy: type });
    }
    const certificate = this.#find(id);
    return (
      certificate?.status === 'ACTIVE' &&
      certificate.thing === thing &&
      certificate.policy === computeNodeName(this.stage)
    );
  }

  createThing(name: string, type: string | undefined): void {
    const existing = this.findThing(name);
    if (existing !== undefined && existing.type !== type) {
      throw new JobsError(
        'ResourceAlreadyExists',
        `Thing ${name} already exists with another type.`,
      );
    }
    const values = { name, type: type ?? null };
    this.#sqlite.run('INSERT OR IGNORE INTO things VALUES (:name, :type)', values);
  }

  findThing(
    name: string,
  ): { readonly name: string; readonly type: string | undefined } | undefined {
    const row = this.#sqlite.get('SELECT * FROM things WHERE name = :name', { name });
    return row && { name, type: row.type === null ? undefined : String(row.type) };
  }

  thing(name: string): { readonly name: string; readonly type: string | undefined } {
    const thing = this.findThing(name);
    if (thing === undefined) throw new JobsError('ResourceNotFound', `Thing ${name} not found`);
    return thing;
  }

  /** Deletes the thing; like AWS, accepts a thing that does not exist. */
  deleteThing(name: string): void {
    if (this.certificatesOf(name).length > 0) {
      throw new JobsError('InvalidRequest', `Thing ${name} has certificates attached.`);
    }
    this.#sqlite.run('DELETE FROM things WHERE name = :name', { name });
    this.#sqlite.run('DELETE FROM attributes WHERE thing = :name', { name });
  }

  attributes(thing: string): Readonly<Record<string, string>> {
    const rows = this.#sqlite.all('SELECT * FROM attributes WHERE thing = :thing', { thing });
    return Object.fromEntries(rows.map(({ name, value }) => [String(name), String(value)]));
  }

  /** Merges; like AWS, removes an attribute whose value is empty. */
  setAttributes(thing: string, attributes: Readonly<Record<string, string>>): void {
    this.thing(thing);
    for (const [name, value] of Object.entries(attributes)) {
      const sql =
        value === ''
          ? 'DELETE FROM attributes WHERE thing = :thing AND name = :name'
          : 'INSERT OR REPLACE INTO attributes VALUES (:thing, :name, :value)';
      this.#sqlite.run(sql, { thing, name, ...(value !== '' && { value }) });
    }
  }

  things(type: string | null): string[] {
    const rows = this.#sqlite.all(
      'SELECT name FROM things WHERE :type IS NULL OR type = :type ORDER BY name',
      { type },
    );
    return rows.map((row) => String(row.name));
  }

  certificate(id: string): RegisteredCertificate {
    const certificate = this.#find(id);
    if (certificate !== undefined && certificate.status !== 'DELETED') return certificate;
    throw new JobsError('ResourceNotFound', `Certificate ${id} not found`);
  }

  certificatesOf(thing: string): RegisteredCertificate[] {
    const rows = this.#sqlite.all('SELECT * FROM certificates WHERE thing = :thing', { thing });
    return rows.map(certificateOf);
  }

  issue(request: string, isActive: boolean): RegisteredCertificate {
    const { commonName, publicKey } = parseRequest(request);
    const pem = this.#sign(commonName, publicKey);
    const id = certificateId(new X509Certificate(pem));
    this.#insert(id, pem, { status: isActive ? 'ACTIVE' : 'INACTIVE', thing: null, policy: null });
    return this.certificate(id);
  }

  setStatus(id: string, status: CertificateStatus): void {
    this.certificate(id);
    this.#sqlite.run('UPDATE certificates SET status = :status WHERE id = :id', { id, status });
    if (status !== 'ACTIVE') this.#ended(id);
  }

  delete(id: string): void {
    const { status, thing, policy } = this.certificate(id);
    if (status === 'ACTIVE') throw new JobsError('CertificateState', 'The certificate is active.');
    if (thing !== undefined || policy !== undefined) {
      throw new JobsError('DeleteConflict', 'The certificate is attached to a thing or a policy.');
    }
    this.setStatus(id, 'DELETED');
  }

  attachThing(id: string, thing: string): void {
    const attachedTo = this.certificate(id).thing;
    this.thing(thing);
    if (attachedTo !== undefined && attachedTo !== thing) {
      throw new JobsError(
        'InvalidRequest',
        `The certificate is attached to ${attachedTo} exclusively.`,
      );
    }
    this.#sqlite.run('UPDATE certificates SET thing = :thing WHERE id = :id', { id, thing });
  }

  detachThing(id: string): void {
    this.certificate(id);
    this.#sqlite.run('UPDATE certificates SET thing = NULL WHERE id = :id', { id });
  }

  setPolicy(id: string, policy: string | null): void {
    this.certificate(id);
    if (policy !== null && policy !== computeNodeName(this.stage)) {
      throw new JobsError('ResourceNotFound', `Policy ${policy} not found`);
    }
    this.#sqlite.run('UPDATE certificates SET policy = :policy WHERE id = :id', { id, policy });
  }

  #insert(
    id: string,
    pem: string,
    row: { status: CertificateStatus; thing: string | null; policy: string | null },
  ): void {
    this.#sqlite.run(
      'INSERT INTO certificates VALUES (:id, :status, :pem, :thing, :policy, :now)',
      { id, pem, now: this.#now(), ...row },
    );
  }

  #find(id: string): RegisteredCertificate | undefined {
    const row = this.#sqlite.get('SELECT * FROM certificates WHERE id = :id', { id });
    return row && certificateOf(row);
  }
}

function parseRequest(pem: string): ReturnType<typeof readRequest> {
  try {
    return readRequest(pem);
  } catch (error) {
    if (!(error instanceof RequestInvalid)) throw error;
    throw new JobsError('InvalidRequest', `The request is not valid: ${error.message}`);
  }
}

/** AWS's certificate id: the SHA-256 of the certificate. */
export function certificateId(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(':', '').toLowerCase();
}

function certificateOf(row: Row): RegisteredCertificate {
  return {
    id: String(row.id),
    status: row.status as CertificateStatus,
    pem: String(row.pem),
    ...(row.thing !== null && { thing: String(row.thing) }),
    ...(row.policy !== null && { policy: String(row.policy) }),
    createdAtMs: Number(row.created_at),
  };
}
