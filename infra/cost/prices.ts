// AWS prices in US dollars without free tiers, taxes and discounts. Prices change, so each names
// its source and date. us-east-1 and us-west-2 have the same prices for all of these.

interface Price {
  readonly dollars: number;
  /** Number of units that the dollars pay for. */
  readonly per: number;
  readonly unit: string;
  readonly source: string;
}

/** From AWS's price list of us-west-2, as printed by another public project on 9 August 2026. */
const priceList = 'AWS Price List, us-west-2, 2026-08-09, by way of a public cost model';
/** From the examples on the service's page; its tables need a browser. */
const page = (service: string) => `https://aws.amazon.com/${service}/pricing/, read 2026-09-20`;
/** Not found on a page of AWS; several public cost models agree. */
const agreed = 'public cost models of 2023 to 2026, which agree; not confirmed by a page of AWS';

const million = 1_000_000;

export const prices = {
  apiRequest: { dollars: 1, per: million, unit: 'HTTP API request', source: priceList },
  invocation: { dollars: 0.2, per: million, unit: 'Lambda request', source: priceList },
  gigabyteSecond: { dollars: 0.0000133334, per: 1, unit: 'GB-second, arm64', source: priceList },
  provisionedGigabyteSecond: {
    dollars: 0.0000033334,
    per: 1,
    unit: 'GB-second of provisioned concurrency, arm64',
    source: agreed,
  },
  writeUnit: { dollars: 0.625, per: million, unit: 'DynamoDB WRU on demand', source: priceList },
  readUnit: { dollars: 0.125, per: million, unit: 'DynamoDB RRU on demand', source: priceList },
  recordedWriteUnit: {
    dollars: 0.78,
    per: million,
    unit: 'DynamoDB WRU on demand, Standard-IA',
    source: agreed,
  },
  recordedGigabyte: {
    dollars: 0.1,
    per: 1,
    unit: 'DynamoDB GB-month, Standard-IA',
    source: agreed,
  },
  storedGigabyte: { dollars: 0.25, per: 1, unit: 'DynamoDB GB-month', source: priceList },
  // Lambda's reads of a stream are free.
  backedUpGigabyte: {
    dollars: 0.2,
    per: 1,
    unit: 'point-in-time recovery, GB-month',
    source: agreed,
  },
  queueRequest: { dollars: 0.4, per: million, unit: 'SQS request, 64 KB', source: priceList },
  connectedMinute: {
    dollars: 0.08,
    per: million,
    unit: 'MQTT connection, minute',
    source: page('iot-core'),
  },
  mqttMessage: { dollars: 1, per: million, unit: 'MQTT message, 5 KB', source: page('iot-core') },
  ruleTriggered: { dollars: 0.15, per: million, unit: 'IoT rule triggered, 5 KB', source: agreed },
  ruleAction: { dollars: 0.15, per: million, unit: 'action of an IoT rule, 5 KB', source: agreed },
  remoteAction: {
    dollars: 0.003,
    per: 1,
    unit: 'IoT job execution, the first 250,000 a month',
    source: page('iot-device-management'),
  },
  remoteActionBeyond: {
    dollars: 0.0015,
    per: 1,
    unit: 'IoT job execution, beyond',
    source: agreed,
  },
  objectPut: { dollars: 0.005, per: 1000, unit: 'S3 PUT', source: priceList },
  objectRead: { dollars: 0.004, per: 10_000, unit: 'S3 GET or HEAD', source: priceList },
  objectGigabyte: { dollars: 0.023, per: 1, unit: 'S3 GB-month', source: priceList },
  gigabyteOut: { dollars: 0.09, per: 1, unit: 'GB to the internet', source: agreed },
  gatewayHour: { dollars: 0.045, per: 1, unit: 'hour of a NAT gateway', source: agreed },
  endpointHour: {
    dollars: 0.01,
    per: 1,
    unit: 'hour of an interface endpoint in one zone',
    source: agreed,
  },
  customEvent: {
    dollars: 1,
    per: million,
    unit: 'event on a custom bus, 64 KB',
    source: agreed,
  },
  trace: {
    dollars: 5,
    per: million,
    unit: 'trace that X-Ray records',
    source: 'https://aws.amazon.com/xray/pricing/, read 2026-11-21',
  },
  loggedGigabyte: { dollars: 0.5, per: 1, unit: 'CloudWatch Logs, GB taken in', source: priceList },
  alarm: { dollars: 0.1, per: 1, unit: 'metric that an alarm watches, month', source: priceList },
  dashboard: { dollars: 3, per: 1, unit: 'CloudWatch dashboard, month', source: agreed },
  metric: {
    dollars: 0.3,
    per: 1,
    unit: 'custom CloudWatch metric, month',
    source: priceList,
  },
  secret: { dollars: 0.4, per: 1, unit: 'secret, month', source: priceList },
} as const satisfies Record<string, Price>;

export type Priced = keyof typeof prices;
