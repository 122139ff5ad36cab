import { IoTClient } from '@aws-sdk/client-iot';
import { createCertificateAnswers } from '#core/clients/aws/certificate-answers.ts';
import { createRegistry } from '#core/clients/aws/host-registry.ts';
import { certificateMessage } from '#core/contracts/identity/renewal.ts';
import { presenceEvent, ruleEnvelope } from '#core/contracts/queues/queue-messages.ts';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { type Renewal, renewCertificate } from '#core/operations/hosts/renew-certificate.ts';
import { readEnvelopeHost, readPayload } from './batch/payload.ts';
import { queueConsumer } from './batch/queue-consumer.ts';

let renewal: Renewal | undefined;

/** Made by the first request: most containers get none. */
function renewalOf(stage: string): Renewal {
  renewal ??= {
    registry: createRegistry(new IoTClient(), stage),
    answers: createCertificateAnswers(stage),
  };
  return renewal;
}

/**
 * An agent connected or disconnected → its host's presence. An agent asks for its next
 * certificate, or has connected with it → the host's certificates.
 */
export const makeConsumer = queueConsumer(
  'host-presence',
  ruleEnvelope,
  async (deps, envelope, { attempt }) => {
    const hostname = readEnvelopeHost(deps, envelope);
    if (envelope.topic.endsWith('/certificate-request')) {
      const message = readPayload(certificateMessage, envelope);
      await renewCertificate(deps, renewalOf(deps.settings.stage), hostname, message, attempt);
      return;
    }
    await recordPresence(deps, hostname, readPayload(presenceEvent, envelope));
  },
);

export const handler = makeConsumer();
