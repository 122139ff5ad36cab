import { type Bill, dollarsOf } from './bill.ts';
import { type Priced, prices } from './prices.ts';

/** Services as on an invoice. */
export const services: Readonly<Record<string, readonly Priced[]>> = {
  'API Gateway': ['apiRequest'],
  'Lambda requests': ['invocation'],
  'Lambda GB-s': ['gigabyteSecond'],
  'Lambda provisioned': ['provisionedGigabyteSecond'],
  'DynamoDB writes': ['writeUnit'],
  'DynamoDB reads': ['readUnit'],
  'DynamoDB storage': ['storedGigabyte', 'backedUpGigabyte'],
  'DynamoDB history': ['recordedWriteUnit', 'recordedGigabyte'],
  SQS: ['queueRequest'],
  'IoT connections': ['connectedMinute'],
  'IoT messages': ['mqttMessage'],
  'IoT rules': ['ruleTriggered', 'ruleAction'],
  'IoT jobs': ['remoteAction', 'remoteActionBeyond'],
  S3: ['objectPut', 'objectRead', 'objectGigabyte'],
  'Transfer to the internet': ['gigabyteOut'],
  'Private network': ['gatewayHour', 'endpointHour'],
  EventBridge: ['customEvent'],
  'X-Ray': ['trace'],
  'CloudWatch logs': ['loggedGigabyte'],
  'CloudWatch alarms, metrics': ['alarm', 'dashboard', 'metric'],
  'Secrets Manager': ['secret'],
};

/**
 * One row per service with costs, and the total; dollars have two decimals, or none from 100 on.
 */
export function rowsOf(bills: readonly Bill[]): string[][] {
  const dollars = bills.map(dollarsOf);
  const rows = Object.entries(services).map(([service, priced]) => ({
    service,
    costs: dollars.map((each) => priced.reduce((total, one) => total + (each[one] ?? 0), 0)),
  }));
  const all = dollars.map((_, at) =>
    rows.reduce((total, { costs }) => total + (costs[at] ?? 0), 0),
  );
  return [...rows.filter(({ costs }) => costs.some(Boolean)), { service: 'total', costs: all }].map(
    ({ service, costs }) => [service, ...costs.map(inDollars)],
  );
}

function inDollars(dollars: number): string {
  if (dollars === 0) return '';
  return dollars < 100
    ? dollars.toFixed(2)
    : Math.round(dollars).toLocaleString('en', { useGrouping: true });
}

/** One row per price, with its unit and source. */
export function priceRows(): string[][] {
  return Object.values(prices).map(({ dollars, per, unit, source }) => [
    unit,
    `$${dollars}${per === 1 ? '' : ` per ${per.toLocaleString('en')}`}`,
    source,
  ]);
}

/** A Markdown table, readable in a terminal too. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, at) => (at === 0 ? '---' : '--:'))),
    ...rows.map(line),
  ].join('\n');
}
