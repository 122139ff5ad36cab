import { rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { DynamoDBClient, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { startDynamoDb, createTables } from '#local/dynamodb.ts';
import { anArq } from '#test/support/builders.ts';
import { arqRow } from '#core/store/rows.ts';
rmSync('/tmp/bw/x.db', { force: true });rmSync('/tmp/bw/x.db-wal', { force: true });rmSync('/tmp/bw/x.db-shm', { force: true });
const e = await startDynamoDb({ file: '/tmp/bw/x.db' });
const c = new DynamoDBClient({ endpoint: e.url, region: 'us-east-1', credentials: { accessKeyId: 'x', secretAccessKey: 'y' } });
await createTables(c, 'bench');
if (process.argv[3] !== 'stream') await c.send(new UpdateTableCommand({ TableName: 'bench-arqs', StreamSpecification: { StreamEnabled: false } }));
const agent = new Agent({ keepAlive: true });
const post = (body: string) => new Promise<string>((ok, no) => {
  const r = request(e.url, { method: 'POST', agent, headers: { 'x-amz-target': 'DynamoDB_20120810.BatchWriteItem', 'content-type': 'application/x-amz-json-1.0', authorization: 'AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0', 'x-amz-date': '20260101T000000Z' } }, (a) => { let t = ''; a.on('data', (d) => (t += d)); a.on('end', () => a.statusCode === 200 ? ok(t) : no(new Error(t))); });
  r.on('error', no); r.end(body);
});
const total = 40000, par = Number(process.argv[2] ?? 4);
let n = 0; const t0 = performance.now(); let last = t0;
await Promise.all(Array.from({ length: par }, async () => {
  while (n < total) {
    const reqs = Array.from({ length: 25 }, () => { const uuid = crypto.randomUUID(); n++; return { PutRequest: { Item: marshall(arqRow(anArq({ uuid: uuid as any }), '2026-01-01T00:00:00.000Z'), { removeUndefinedValues: true }) } }; });
    await post(JSON.stringify({ RequestItems: { 'bench-arqs': reqs } }));
    if (n % 10000 === 0) { const now = performance.now(); console.log(n, Math.round(10000 / (now - last) * 1000), '/s'); last = now; }
  }
}));
console.log(par, Math.round(n / (performance.now() - t0) * 1000), 'items/s');
await e.stop();
