// The loop of a Lambda runtime, by its documented interface: next invocation, handler, response.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html

const api = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`;
const post = (path, value) =>
  fetch(`${api}/${path}`, { method: 'POST', body: JSON.stringify(value) ?? 'null' });
const faultOf = (error) => ({ errorType: error?.name, errorMessage: String(error?.message) });

let handler;
try {
  ({ handler } = await import(process.env.TEST_BUNDLE));
} catch (error) {
  await post('init/error', faultOf(error));
  process.exit(1);
}
for (;;) {
  const next = await fetch(`${api}/invocation/next`);
  if (next.status !== 200) break;
  const id = next.headers.get('lambda-runtime-aws-request-id');
  const deadline = Number(next.headers.get('lambda-runtime-deadline-ms'));
  process.env._X_AMZN_TRACE_ID = next.headers.get('lambda-runtime-trace-id') ?? '';
  const context = {
    awsRequestId: id,
    invokedFunctionArn: next.headers.get('lambda-runtime-invoked-function-arn'),
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: '$LATEST',
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    callbackWaitsForEmptyEventLoop: true,
  };
  try {
    const result = await handler(await next.json(), context);
    await post(`invocation/${id}/response`, result);
  } catch (error) {
    await post(`invocation/${id}/error`, faultOf(error));
  }
}
