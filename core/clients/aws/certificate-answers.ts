// The control plane's answers to hosts that ask for their next certificate. The host that asked is
// connected, and asks again if an answer is lost.

import { IoTDataPlaneClient, PublishCommand } from '@aws-sdk/client-iot-data-plane';
import type { CertificateAnswer } from '#core/contracts/identity/renewal.ts';
import { certificateTopic, thingName } from '#core/contracts/topics.ts';

export interface CertificateAnswers {
  send(hostname: string, answer: CertificateAnswer): Promise<void>;
}

export function createCertificateAnswers(
  stage: string,
  client: Pick<IoTDataPlaneClient, 'send'> = new IoTDataPlaneClient(),
): CertificateAnswers {
  return {
    async send(hostname, answer) {
      const command = new PublishCommand({
        topic: certificateTopic(stage, thingName(stage, hostname)),
        qos: 0,
        payload: Buffer.from(JSON.stringify(answer)),
      });
      await client.send(command);
    },
  };
}
