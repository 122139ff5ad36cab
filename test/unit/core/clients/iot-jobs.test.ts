// A job cannot be cancelled while AWS IoT is away: the caller tries again later.

import { IoTClient } from '@aws-sdk/client-iot';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it } from 'vitest';
import { createIotJobs } from '#core/clients/aws/iot-jobs.ts';

const client = new IoTClient({});
const iot = mockClient(client);
const jobs = createIotJobs({ stage: 'test', thingArnPrefix: 'arn:', client });

const errors = {
  throttled: Object.assign(new Error('slow down'), { name: 'ThrottlingException' }),
  refused: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
  broken: Object.assign(new Error('internal'), { $metadata: { httpStatusCode: 500 } }),
};

it.each(Object.entries(errors))('is retried later when the call is %s', async (_name, error) => {
  iot.onAnyCommand().rejects(error);
  await expect(jobs.cancel('job-1', 'reason')).rejects.toMatchObject({ name: 'RetryLater' });
});

it('is a fault when the call is refused for what it says', async () => {
  const error = Object.assign(new Error('no'), { name: 'UnauthorizedException' });
  iot.onAnyCommand().rejects(error);
  await expect(jobs.cancel('job-1', 'reason')).rejects.toMatchObject({ message: 'no' });
});
