// Events as AWS documents them, field by field, with everything that our functions do not use.

interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly rawQueryString?: string;
  /** Names in lower case; several values of a name are joined by commas. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

/**
 * Payload format 2.0 of an HTTP API.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
 */
export function httpApiEvent(call: HttpCall): Record<string, unknown> {
  const { method, path, rawQueryString = '', headers, body, isBase64Encoded = false } = call;
  const joined: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(rawQueryString)) {
    joined[name] = name in joined ? `${joined[name]},${value}` : value;
  }
  const routeKey = `ANY ${path.replace(/\/$/, '')}/{proxy+}`;
  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString,
    cookies: ['cookie1=value1', 'cookie2=value2'],
    headers: { 'x-amzn-trace-id': 'Root=1-5759e988-bd862e3fe1be46a994272793', ...headers },
    ...(rawQueryString !== '' && { queryStringParameters: joined }),
    requestContext: {
      accountId: '123456789012',
      apiId: 'api-id',
      authentication: { clientCert: null },
      domainName: 'id.execute-api.us-east-1.amazonaws.com',
      domainPrefix: 'id',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'agent' },
      requestId: 'JKJaXmPLvHcESHA=',
      routeKey,
      stage: '$default',
      time: '12/Mar/2020:19:03:58 +0000',
      timeEpoch: 1583348638390,
    },
    pathParameters: { proxy: path.split('/').at(-1) },
    stageVariables: { stageVariable1: 'value1' },
    ...(body !== undefined && { body }),
    isBase64Encoded,
  };
}

/** https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html */
export function queueEvent(queue: string, bodies: readonly string[]) {
  return {
    Records: bodies.map((body, index) => ({
      messageId: `059f36b4-87a3-44ab-83d2-66197583${index}a7d`,
      receiptHandle: `AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a${index}`,
      body,
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: '1545082649183',
        SenderId: 'AIDAIENQZJOLO23YVJ4VO',
        ApproximateFirstReceiveTimestamp: '1545082649185',
      },
      messageAttributes: {},
      md5OfBody: 'e4e68fb7bd0e697a0ae8f1bb342846b3',
      eventSource: 'aws:sqs',
      eventSourceARN: `arn:aws:sqs:us-east-1:123456789012:${queue}`,
      awsRegion: 'us-east-1',
    })),
  };
}

type Attributes = Readonly<Record<string, unknown>>;

interface StreamChange {
  readonly table: string;
  readonly keys: Attributes;
  readonly before?: Attributes;
  readonly after?: Attributes;
  /** DynamoDB's time to live removed the row. */
  readonly isExpired?: true;
}

/**
 * https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html
 */
export function streamEvent(changes: readonly StreamChange[]) {
  return {
    Records: changes.map(({ table, keys, before, after, isExpired }, index) => ({
      eventID: `c4ca4238a0b923820dcc509a6f75849${index}`,
      eventName: before ? (after ? 'MODIFY' : 'REMOVE') : 'INSERT',
      eventVersion: '1.1',
      eventSource: 'aws:dynamodb',
      awsRegion: 'us-east-1',
      ...(isExpired && {
        userIdentity: { type: 'Service', principalId: 'dynamodb.amazonaws.com' },
      }),
      dynamodb: {
        ApproximateCreationDateTime: 1479499740,
        Keys: keys,
        ...(before && { OldImage: before }),
        ...(after && { NewImage: after }),
        SequenceNumber: `470000000000000000000${index}`,
        SizeBytes: 26,
        StreamViewType: 'NEW_AND_OLD_IMAGES',
      },
      eventSourceARN: `arn:aws:dynamodb:us-east-1:123456789012:table/${table}/stream/2015-06-27T00:48:05.899`,
    })),
  };
}

/** What an IoT rule of ours sends for a message. */
export function ruled(
  topic: string,
  thing: string,
  payload: object,
  received_at = 1573002230757,
): string {
  const encoded = Buffer.from(JSON.stringify(payload)).toString('base64');
  return JSON.stringify({ thing, topic, received_at, payload: encoded });
}

/** https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html */
export function presenceBody(thing: string, eventType: 'connected' | 'disconnected'): string {
  const isEnd = eventType === 'disconnected';
  return ruled(`$aws/events/presence/${eventType}/${thing}`, thing, {
    clientId: thing,
    timestamp: isEnd ? 1573002340451 : 1573002230757,
    eventType,
    sessionIdentifier: 'a4666d2a7d844ae4ac5d7b38c9cb7967',
    principalIdentifier: '12345678901234567890123456789012',
    ...(isEnd
      ? { clientInitiatedDisconnect: true, disconnectReason: 'CLIENT_INITIATED_DISCONNECT' }
      : { ipAddress: '192.0.2.0' }),
    versionNumber: 0,
  });
}

/** https://docs.aws.amazon.com/iot/latest/developerguide/events-jobs.html */
export function jobEventBody(thing: string, jobId: string): string {
  return ruled(`$aws/events/jobExecution/${jobId}/succeeded`, jobId, {
    eventType: 'JOB_EXECUTION',
    eventId: '7c89c317-05b9-4a7c-8b0f-aacbb6f2d3cb',
    timestamp: 1234567890,
    operation: 'succeeded',
    jobId,
    thingArn: `arn:aws:iot:us-east-1:123456789012:thing/${thing}`,
    status: 'SUCCEEDED',
    statusDetails: { key: 'value' },
  });
}

/** https://docs.aws.amazon.com/lambda/latest/dg/with-eventbridge-scheduler.html */
export const scheduledEvent = {
  version: '0',
  id: '53dc4d37-cffa-4f76-80c9-8b7d4a4d2eaa',
  'detail-type': 'Scheduled Event',
  source: 'aws.scheduler',
  account: '123456789012',
  time: '2015-10-08T16:53:06Z',
  region: 'us-east-1',
  resources: ['arn:aws:scheduler:us-east-1:123456789012:schedule/default/test-sweep'],
  detail: '{}',
};
