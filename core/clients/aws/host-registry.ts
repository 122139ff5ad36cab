// AWS IoT's registry of hosts: a thing for each host, and its certificates. Every call can be
// repeated.

import { setTimeout as sleep } from 'node:timers/promises';
import {
  AttachPolicyCommand,
  AttachThingPrincipalCommand,
  CreateCertificateFromCsrCommand,
  CreateThingCommand,
  DeleteCertificateCommand,
  DeleteThingCommand,
  DescribeCertificateCommand,
  DescribeEndpointCommand,
  DescribeThingCommand,
  DetachPolicyCommand,
  DetachThingPrincipalCommand,
  type IoTClient,
  paginateListThingPrincipals,
  paginateListThings,
  UpdateCertificateCommand,
  UpdateThingCommand,
} from '@aws-sdk/client-iot';
import { computeNodeName } from '#core/contracts/topics.ts';

export interface HostCertificate {
  /** 64 hexadecimal digits. */
  readonly id: string;
  readonly arn: string;
  /** `ACTIVE`, `INACTIVE`, `REVOKED`. */
  readonly status: string;
  readonly pem: string;
  readonly createdAt: Date;
}

export interface Registry {
  /**
   * Creates the thing if it does not exist. @throws RegistryMismatch if its type is another one
   */
  ensureThing(thing: string): Promise<void>;
  /** Things of all hosts of the stage. */
  things(): Promise<string[]>;
  /**
   * Stores that no certificate of the host may be active, until the mark is removed. A thing that
   * does not exist is not marked.
   */
  setRevoked(thing: string, isRevoked: boolean): Promise<void>;
  isRevoked(thing: string): Promise<boolean>;
  /** Certificates of the thing, the newest first; empty if the thing does not exist. */
  certificatesOf(thing: string): Promise<HostCertificate[]>;
  /** Creates an inactive certificate. */
  issue(request: string): Promise<HostCertificate>;
  /** Attaches it to this thing exclusively. */
  attach(certificate: HostCertificate, thing: string): Promise<void>;
  /** Attaches the policy of the stage's hosts. */
  allow(certificate: HostCertificate): Promise<void>;
  activate(certificate: HostCertificate): Promise<void>;
  /**
   * Revokes all certificates of the thing, until the registry has no other. They stay attached: a
   * consumer that is about to activate one finds it again. AWS ends their connections within a few
   * minutes.
   *
   * @returns those that it has revoked
   */
  revokeAll(thing: string): Promise<HostCertificate[]>;
  /** Deletes it. AWS ends its connections within a few minutes. */
  remove(certificate: HostCertificate, thing: string): Promise<void>;
  /**
   * Retries while AWS still lists a certificate on the thing, for some seconds after its removal.
   */
  removeThing(thing: string): Promise<void>;
  /** Host name of the broker. */
  endpoint(): Promise<string>;
}

/** The registry has a resource with that name that does not belong to the stage. */
export class RegistryMismatch extends Error {
  override readonly name = 'RegistryMismatch';
}

/**
 * A certificate is detached "within several seconds":
 * https://docs.aws.amazon.com/iot/latest/apireference/API_DetachThingPrincipal.html
 */
const detachedWithin = { tries: 15, pauseMs: 2000 };

const revokedAttribute = 'revoked';

export function createRegistry(
  client: IoTClient,
  stage: string,
  pause: (milliseconds: number) => Promise<unknown> = sleep,
): Registry {
  /** Thing type and policy have the same name. */
  const ours = computeNodeName(stage);

  async function describe(arn: string): Promise<HostCertificate> {
    const id = arn.slice(arn.lastIndexOf('/') + 1);
    const answer = await client.send(new DescribeCertificateCommand({ certificateId: id }));
    const { status = '', certificatePem = '', creationDate } = answer.certificateDescription ?? {};
    return { id, arn, status, pem: certificatePem, createdAt: creationDate ?? new Date(0) };
  }

  async function update({ id }: HostCertificate, newStatus: 'ACTIVE' | 'INACTIVE' | 'REVOKED') {
    await client.send(new UpdateCertificateCommand({ certificateId: id, newStatus }));
  }

  async function detach(certificate: HostCertificate, thing: string): Promise<void> {
    await disallow(certificate);
    const { arn } = certificate;
    const command = new DetachThingPrincipalCommand({ thingName: thing, principal: arn });
    await unlessAbsent(client.send(command));
  }

  async function certificatesOf(thing: string): Promise<HostCertificate[]> {
    const arns = await unlessAbsent(listPrincipals(client, thing));
    // One may be deleted between the two calls.
    const listed = await Promise.all((arns ?? []).map((arn) => unlessAbsent(describe(arn))));
    const certificates = listed.filter((each) => each !== undefined);
    return certificates.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  }

  const disallow = ({ arn }: HostCertificate) =>
    unlessAbsent(client.send(new DetachPolicyCommand({ policyName: ours, target: arn })));

  async function revoke(certificate: HostCertificate): Promise<void> {
    await update(certificate, 'REVOKED');
    await disallow(certificate);
  }

  return {
    async ensureThing(thing) {
      const stored = await unlessAbsent(
        client.send(new DescribeThingCommand({ thingName: thing })),
      );
      if (stored === undefined) {
        await client.send(new CreateThingCommand({ thingName: thing, thingTypeName: ours }));
      } else if (stored.thingTypeName !== ours) {
        const type = stored.thingTypeName ?? 'no type';
        throw new RegistryMismatch(`Thing ${thing} exists with type ${type} instead of ${ours}.`);
      }
    },

    async setRevoked(thing, isRevoked) {
      // AWS removes an attribute whose value is empty.
      const attributes = { [revokedAttribute]: isRevoked ? 'true' : '' };
      const attributePayload = { attributes, merge: true };
      await unlessAbsent(
        client.send(new UpdateThingCommand({ thingName: thing, attributePayload })),
      );
    },

    async isRevoked(thing) {
      const stored = await unlessAbsent(
        client.send(new DescribeThingCommand({ thingName: thing })),
      );
      return stored?.attributes?.[revokedAttribute] === 'true';
    },

    async things() {
      const names: string[] = [];
      for await (const page of paginateListThings({ client }, { thingTypeName: ours })) {
        names.push(...(page.things ?? []).flatMap(({ thingName }) => thingName ?? []));
      }
      return names.sort();
    },

    certificatesOf,

    async issue(request) {
      const answer = await client.send(
        new CreateCertificateFromCsrCommand({
          certificateSigningRequest: request,
          setAsActive: false,
        }),
      );
      const { certificateId: id = '', certificateArn: arn = '', certificatePem: pem = '' } = answer;
      return { id, arn, status: 'INACTIVE', pem, createdAt: new Date() };
    },

    async attach({ arn }, thing) {
      await client.send(
        new AttachThingPrincipalCommand({
          thingName: thing,
          principal: arn,
          thingPrincipalType: 'EXCLUSIVE_THING',
        }),
      );
    },

    async allow({ arn }) {
      await client.send(new AttachPolicyCommand({ policyName: ours, target: arn }));
    },

    activate: (certificate) => update(certificate, 'ACTIVE'),

    async revokeAll(thing) {
      const revoked: HostCertificate[] = [];
      for (;;) {
        const listed = await certificatesOf(thing);
        // A revoked one may still have its policy: its revocation died in between.
        for (const certificate of listed) await revoke(certificate);
        const left = listed.filter(({ status }) => status !== 'REVOKED');
        if (left.length === 0) return revoked;
        revoked.push(...left);
      }
    },

    async remove(certificate, thing) {
      if (certificate.status === 'ACTIVE') await update(certificate, 'INACTIVE');
      // Inactive first: after a failure from here on, the leftover certificate cannot connect.
      await detach(certificate, thing);
      await unlessAbsent(
        client.send(new DeleteCertificateCommand({ certificateId: certificate.id })),
      );
    },

    async removeThing(thing) {
      for (let tried = 1; ; tried += 1) {
        try {
          await client.send(new DeleteThingCommand({ thingName: thing }));
          return;
        } catch (error) {
          const isAttached = error instanceof Error && error.name === 'InvalidRequestException';
          if (!isAttached || tried === detachedWithin.tries) throw error;
          await pause(detachedWithin.pauseMs);
        }
      }
    },

    async endpoint() {
      const command = new DescribeEndpointCommand({ endpointType: 'iot:Data-ATS' });
      return (await client.send(command)).endpointAddress ?? '';
    },
  };
}

async function listPrincipals(client: IoTClient, thingName: string): Promise<string[]> {
  const arns: string[] = [];
  for await (const page of paginateListThingPrincipals({ client }, { thingName })) {
    arns.push(...(page.principals ?? []).filter((arn) => arn.includes(':cert/')));
  }
  return arns;
}

async function unlessAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
    throw error;
  }
}
