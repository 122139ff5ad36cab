import { createDocuments } from '#core/store/table/documents.ts';
import { createTables, startDynamoDb } from '#local/aws/dynamodb/dynamodb.ts';
import { dynamoDbAt } from '#test/local/clients.ts';

/** Clients of a DynamoDB engine that has the tables of the stage `test`. */
export async function startTables() {
  const { url, stop } = await startDynamoDb();
  const client = dynamoDbAt(url);
  await createTables(client, 'test');
  client.destroy();
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const { close, ...clients } = createDocuments({
    endpoint: url,
    region: 'us-east-1',
    credentials,
  });
  return {
    ...clients,
    stop: async () => {
      close();
      await stop();
    },
  };
}
