// The control plane's own token, which one container stores for the others. The row is encrypted
// with a key derived from our password, so that read access to the table alone does not reveal
// the token.

import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { type OwnToken, ownToken } from '#core/contracts/own-token.ts';
import type { PasswordSource } from '#core/domain/password-source.ts';
import type { Documents } from './table/documents.ts';
import { getRow } from './table/reads.ts';

interface OwnTokens {
  /** Undefined also if the row was encrypted with another password. */
  read(): Promise<OwnToken | undefined>;
  write(token: OwnToken): Promise<void>;
}

const cipher = 'aes-256-gcm';
const ivBytes = 12;
const tagBytes = 16;

/** @param owner at which Keystone, and as whom; containers of one deployment agree in it */
export function ownTokenStore(
  client: Documents,
  table: string,
  { owner, passwords }: { readonly owner: string; readonly passwords: PasswordSource },
): OwnTokens {
  const pk = `OWN#${createHash('sha256').update(owner).digest('hex')}`;
  const deriveKey = (password: string) =>
    Buffer.from(hkdfSync('sha256', password, owner, 'own token', 32));

  /** Another container may know the next password already. */
  async function openWithAny(sealed: string): Promise<string | undefined> {
    const current = await passwords.current();
    const text = open(deriveKey(current), sealed);
    if (text !== undefined) return text;
    for await (const password of passwords.others(current)) {
      const opened = open(deriveKey(password), sealed);
      if (opened === undefined) continue;
      passwords.keep(password);
      return opened;
    }
    return undefined;
  }

  return {
    async read() {
      const row = await getRow(client, table, { pk });
      const text = typeof row?.sealed === 'string' ? await openWithAny(row.sealed) : undefined;
      return text === undefined ? undefined : ownToken.parse(JSON.parse(text));
    },

    async write(token) {
      const Item = {
        pk,
        sealed: seal(deriveKey(await passwords.current()), JSON.stringify(token)),
        expires_at: Math.ceil(token.expiresAt / 1000),
      };
      await client.send(new PutCommand({ TableName: table, Item }));
    },
  };
}

function seal(key: Buffer, text: string): string {
  const iv = randomBytes(ivBytes);
  const sealing = createCipheriv(cipher, key, iv);
  const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()]);
  return Buffer.concat([iv, sealing.getAuthTag(), sealed]).toString('base64');
}

function open(key: Buffer, text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64');
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, ivBytes), {
    authTagLength: tagBytes,
  });
  try {
    opening.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    const rest = bytes.subarray(ivBytes + tagBytes);
    return Buffer.concat([opening.update(rest), opening.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
