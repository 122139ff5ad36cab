// A fake AWS IoT registry of one host, which renews its certificate while an operator revokes it.

import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import {
  AttachPolicyCommand,
  AttachThingPrincipalCommand,
  CreateCertificateFromCsrCommand,
  DeleteCertificateCommand,
  DescribeCertificateCommand,
  DescribeThingCommand,
  DetachPolicyCommand,
  DetachThingPrincipalCommand,
  IoTClient,
  ListThingPrincipalsCommand,
  ListThingsCommand,
  UpdateCertificateCommand,
  UpdateThingCommand,
} from '@aws-sdk/client-iot';
import { createRegistry, type Registry } from '#core/clients/aws/host-registry.ts';
import { certificateRequest } from '#core/contracts/identity/certificate-request.ts';
import { computeNodeName } from '#core/contracts/topics.ts';
import { JobsError } from '#local/aws/iot-jobs/errors.ts';
import { ThingRegistry } from '#local/aws/iot-jobs/registry/registry.ts';
import { issueCertificate } from '#local/aws/x509.ts';
import { named } from '#simulation/database/memory-database.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';

export interface SimulatedRegistry {
  /** The registry's client, for one process. */
  readonly forProcess: (process: Process) => Registry;
  /** A request for another key of the host. */
  readonly request: () => string;
  /** Ids of all active certificates, also of those that are attached to nothing. */
  readonly active: () => string[];
}

/** The host has one active certificate. Nothing depends on keys, which differ in each run. */
export function createSimulatedRegistry(
  timeline: Timeline,
  stage: string,
  thing: string,
): SimulatedRegistry {
  const authority = { commonName: 'authority', ...keyPair() };
  const issued = new Set<string>();
  let moments = 0;
  const things = new ThingRegistry({
    stage,
    // No two certificates are of one moment: their ids must not decide their order.
    now: () => {
      moments += 1;
      return timeline.now() + moments;
    },
    sign: (commonName: string, publicKey: KeyObject) =>
      issueCertificate({ commonName, kind: 'client', days: 1, publicKey }, authority),
  });
  const request = () => certificateRequest(thing, keyPair().privateKey);
  const issue = (csr: string, isActive: boolean) => {
    const { id, pem } = things.issue(csr, isActive);
    issued.add(id);
    return { certificateId: id, certificateArn: arn(id), certificatePem: pem };
  };
  things.createThing(thing, computeNodeName(stage));
  const { certificateId } = issue(request(), true);
  things.attachThing(certificateId, thing);
  things.setPolicy(certificateId, computeNodeName(stage));

  function perform(command: object): object {
    if (command instanceof DescribeThingCommand) {
      return { ...things.thing(thing), attributes: things.attributes(thing) };
    }
    if (command instanceof ListThingsCommand) return { things: [{ thingName: thing }] };
    if (command instanceof UpdateThingCommand) {
      things.setAttributes(thing, command.input.attributePayload?.attributes ?? {});
    } else if (command instanceof ListThingPrincipalsCommand) {
      return { principals: things.certificatesOf(thing).map(({ id }) => arn(id)) };
    } else if (command instanceof DescribeCertificateCommand) {
      const { id, status, pem, createdAtMs } = things.certificate(`${command.input.certificateId}`);
      const creationDate = new Date(createdAtMs);
      const description = { certificateId: id, certificatePem: pem, status, creationDate };
      return { certificateDescription: description };
    } else if (command instanceof CreateCertificateFromCsrCommand) {
      return issue(`${command.input.certificateSigningRequest}`, false);
    } else if (command instanceof UpdateCertificateCommand) {
      things.setStatus(`${command.input.certificateId}`, command.input.newStatus as 'ACTIVE');
    } else if (command instanceof DeleteCertificateCommand) {
      const id = `${command.input.certificateId}`;
      things.delete(id);
      issued.delete(id);
    } else if (command instanceof AttachThingPrincipalCommand) {
      things.attachThing(idOf(command.input.principal), thing);
    } else if (command instanceof DetachThingPrincipalCommand) {
      things.detachThing(idOf(command.input.principal));
    } else if (command instanceof AttachPolicyCommand) {
      things.setPolicy(idOf(command.input.target), `${command.input.policyName}`);
    } else if (command instanceof DetachPolicyCommand) {
      things.setPolicy(idOf(command.input.target), null);
    } else {
      throw new Error(`The fake AWS IoT does not support ${command.constructor.name}.`);
    }
    return {};
  }

  return {
    request,
    active: () => [...issued].filter((id) => things.certificate(id).status === 'ACTIVE'),
    forProcess: (process) => {
      const client = new IoTClient({ region: 'us-east-1' });
      const send = (command: object) =>
        timeline.effect(process, `IoT ${command.constructor.name}`, () => {
          try {
            return perform(command);
          } catch (error) {
            throw error instanceof JobsError
              ? named(`${error.code}Exception`, error.message)
              : error;
          }
        });
      return createRegistry(Object.assign(client, { send }), stage);
    },
  };
}

function keyPair() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

const arn = (id: string) => `arn:aws:iot:us-east-1:000000000000:cert/${id}`;

function idOf(principal: string | undefined): string {
  return `${principal}`.slice(`${principal}`.lastIndexOf('/') + 1);
}
