// The question of AWS CodeDeploy before a new version of a function gets its first request: may
// it? Each new version answers a call here that changes nothing. So a release that cannot start,
// lacks a permission or has a wrong setting reaches no server.
// https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html

import { type Aws, openAws } from '#core/clients/aws/call.ts';
import { createDeps, type Deps } from '#core/deps.ts';
import { createLog } from '#core/log.ts';
import { newVersionsVariable } from '#core/settings.ts';

/** CodeDeploy's event of a hook. */
export interface HookEvent {
  readonly DeploymentId: string;
  readonly LifecycleEventHookExecutionId: string;
}

/** `name:number` of a function's version. */
type Version = string;

/** New permissions of a release may take half a minute to work. */
const attemptsMax = 5;
const pauseMs = 8000;

/** A server that does not exist. */
const nobodys = '00000000-0000-4000-8000-000000000000';

let deps: Deps | undefined;
let aws: Aws | undefined;

/** Answers CodeDeploy in any case: without an answer it would wait for an hour. */
export async function handler(event: HookEvent): Promise<void> {
  aws ??= await openAws();
  const faults = await faultsOfRelease().catch((error) => [String(error)]);
  const status = faults.length > 0 ? 'Failed' : 'Succeeded';
  const log = deps?.log ?? createLog('release-check');
  if (faults.length > 0) log.error('Release refused', { faults });
  else log.info('Release accepted');
  await aws.json('codedeploy', 'CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus', {
    deploymentId: event.DeploymentId,
    lifecycleEventHookExecutionId: event.LifecycleEventHookExecutionId,
    status,
  });
}

/** @throws SettingsInvalid */
async function faultsOfRelease(): Promise<string[]> {
  deps ??= createDeps('release-check');
  const versions = (process.env[newVersionsVariable] ?? '').split(',').filter(Boolean);
  let faults = versions.length === 0 ? [`${newVersionsVariable} names no version`] : [];
  let left: readonly Version[] = versions;
  for (let attempt = 1; left.length > 0; attempt++) {
    const outcomes = await Promise.all(left.map(async (each) => [each, await faultOf(each)]));
    const bad = outcomes.filter(([, fault]) => fault !== undefined);
    left = bad.map(([version = '']) => version);
    faults = bad.map(([version, fault]) => `${version}: ${fault}`);
    if (attempt >= attemptsMax) break;
    if (left.length > 0) await deps.sleep(pauseMs);
  }
  return faults;
}

/** Undefined if the version works. */
async function faultOf(version: Version): Promise<string | undefined> {
  const [name, number] = version.split(':');
  const path = `/2015-03-31/functions/${name}/invocations?Qualifier=${number}`;
  try {
    const answer = await aws?.post('lambda', path, await callOf(version));
    if (typeof answer?.errorType === 'string') {
      return `${answer.errorType}: ${String(answer.errorMessage)}`;
    }
    const { statusCode } = { statusCode: 200, ...answer };
    // A policy of the operator's may forbid the list to the service user.
    if (statusCode === 200 || statusCode === 403) return undefined;
    return `answers ${statusCode}: ${String(answer?.body).slice(0, 200)}`;
  } catch (error) {
    return String(error);
  }
}

/** Nova's own questions; the functions of the streams get a batch without records. */
const questions: readonly (readonly [end: string, path: string, query: Record<string, string>])[] =
  [
    ['-accelerator-requests', '/accelerator/v2/accelerator_requests', { instance: nobodys }],
    ['-device-profiles', '/accelerator/v2/device_profiles', { name: 'release-check' }],
  ];

async function callOf(version: Version): Promise<object> {
  const [name = ''] = version.split(':');
  const question = questions.find(([end]) => name.endsWith(end));
  if (question === undefined) return { Records: [] };
  const [, path, query] = question;
  const token = await deps?.clients.keystone.ownToken();
  // API Gateway passes requests on in this form.
  return {
    version: '2.0',
    rawPath: path,
    rawQueryString: String(new URLSearchParams(query)),
    queryStringParameters: query,
    headers: {
      'x-auth-token': token,
      // In 2.0 a name that no profile has is answered with 404.
      'openstack-api-version': 'accelerator 2.1',
      host: 'release-check',
      'x-forwarded-proto': 'https',
    },
    requestContext: {
      http: { method: 'GET', path, sourceIp: '127.0.0.1', userAgent: 'release-check' },
      domainName: 'release-check',
      requestId: crypto.randomUUID(),
      stage: '$default',
    },
    isBase64Encoded: false,
  };
}
