// Messages of AWS IoT to one host. A message to a host that is not connected is lost.
// https://docs.aws.amazon.com/iot/latest/apireference/API_iotdata_Publish.html

import { IoTDataPlaneClient, PublishCommand } from '@aws-sdk/client-iot-data-plane';
import type { CardsMessage, WorkMessage } from '#core/contracts/jobs/work-message.ts';
import { thingName, workTopic } from '#core/contracts/topics.ts';

export interface HostMessages {
  send(hostname: string, message: WorkMessage | CardsMessage): Promise<void>;
}

export function createHostMessages(options: {
  readonly stage: string;
  readonly client?: Pick<IoTDataPlaneClient, 'send'>;
}): HostMessages {
  const { stage } = options;
  let iot = options.client;
  return {
    async send(hostname, message) {
      iot ??= new IoTDataPlaneClient();
      const command = new PublishCommand({
        topic: workTopic(stage, thingName(stage, hostname)),
        // With QoS 1 AWS would keep it for an absent host, and deliver it when it is late.
        qos: 0,
        payload: Buffer.from(JSON.stringify(message)),
      });
      await iot.send(command);
    },
  };
}
