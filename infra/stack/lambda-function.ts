import { ArnFormat, Duration, RemovalPolicy, Size, Stack, Token } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Alias, Architecture, type IVersion, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { eventBusName } from '#core/contracts/events.ts';
import type { QueueName, StreamConsumerName } from '#core/contracts/queues/queues.ts';
import { certificateTopic, workTopic } from '#core/contracts/topics.ts';
import { deadQueueUrlVariable, queueUrlVariable } from '#core/settings.ts';
import type { TableName } from '#core/store/table/tables.ts';
import {
  access,
  type FunctionName,
  isShifted,
  keyActionsOf,
  ownTokenAccess,
  traced,
} from '#infra/access.ts';
import { codeOf } from '#infra/bundle/function-code.ts';
import { constructId } from '#infra/construct-id.ts';
import { acknowledgeWildcard } from '#infra/nag.ts';
import { connectToNetwork } from '#infra/settings/network.ts';
import {
  type DeploymentSettings,
  imageReaderVariable,
  passwordFieldVariable,
  passwordSecretVariable,
  passwordVariable,
  stagingBucketVariable,
  thingArnVariable,
} from '#infra/settings/settings.ts';
import { usingDataKey } from '#infra/storage/data-key.ts';
import type { Queues } from '#infra/storage/queues.ts';
import { createImageReader } from '#infra/storage/staging.ts';
import type { Tables } from '#infra/storage/tables.ts';
import { logging } from './logging.ts';
import { provisionedFromStart, scaleProvisioned } from './provision.ts';

/** The resources and settings that functions are created with. */
export interface Surroundings {
  readonly settings: DeploymentSettings;
  readonly tables: Tables;
  readonly queues: Queues;
  readonly staging: Bucket;
}

export interface LambdaFunctionProps {
  readonly name: FunctionName;
  /** Module with the `handler`, relative to the project's root. */
  readonly entry: string;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  /** The command that adds files to the folder of the bundle. */
  readonly addFiles?: (folder: string) => string;
}

/** The name of the alias under which callers reach a function. */
export const liveAlias = 'live';

/** Disk space for one of the largest images. */
const diskForImages = Size.mebibytes(1536);

/** A function with our defaults. access.ts decides its role's permissions and its environment. */
export class LambdaFunction extends NodejsFunction {
  readonly name: FunctionName;
  /** What its callers use if a release shifts them step by step. */
  readonly live: Alias | undefined;

  constructor(
    scope: Construct,
    { settings, tables, queues, staging }: Surroundings,
    { name, entry, timeoutSeconds, memoryMb, addFiles }: LambdaFunctionProps,
  ) {
    const id = constructId(name);
    const isTraced = settings.tracing && traced.includes(name);
    const functionName = `${settings.stage}-${name}`;
    const logGroup = new LogGroup(scope, `${id}Log`, {
      logGroupName: `/aws/lambda/${functionName}`,
      retention: settings.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // Replaces AWS's managed policy, which allows writing to any log.
    const role = new Role(scope, `${id}Role`, {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      ...usingDataKey(settings, keyActionsOf(name)),
    });
    logGroup.grantWrite(role);
    const reserved = settings.reservedConcurrency[name];
    const provisioned = isShifted(name) ? settings.provisionedConcurrency[name] : undefined;
    super(scope, `${id}Function`, {
      functionName,
      role,
      logGroup,
      ...logging(settings.logLevel),
      ...codeOf(scope, name, entry, addFiles),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: Duration.seconds(timeoutSeconds),
      memorySize: memoryMb,
      ...(reserved !== undefined && { reservedConcurrentExecutions: reserved }),
      ...(access[name].stagesImages && { ephemeralStorageSize: diskForImages }),
      environment: { ...settings.environment, ...passwordOf(name, settings) },
      // Only Lambda's own segments: X-Ray's SDK would enlarge every bundle, and log lines have
      // the details.
      tracing: isTraced ? Tracing.ACTIVE : Tracing.DISABLED,
      // Concerns only version 2 of the SDK.
      awsSdkConnectionReuse: false,
      // Requests that are under way end on the version that they began on.
      currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
    });
    this.name = name;
    this.live = isShifted(name)
      ? // The CDK's own types contradict each other under exactOptionalPropertyTypes.
        new Alias(this, 'Live', {
          aliasName: liveAlias,
          version: this.currentVersion as IVersion,
          ...provisionedFromStart(provisioned),
        })
      : undefined;
    if (this.live) scaleProvisioned(this.live, provisioned);
    const {
      tables: own = {},
      indexes = {},
      sendsTo = [],
      jobs = [],
      stagesImages,
      messagesHosts,
      certifiesHosts,
      announces,
      callsOpenStack,
      forwardsSignIns,
      checks = [],
    } = access[name];
    if (isTraced) this.#acknowledge('*', 'X-Ray has no ARNs for trace segments.');
    const actions = { ...own, ...(callsOpenStack && ownTokenAccess) };
    for (const table of namesOf(actions)) {
      this.#allow('dynamodb', actions[table] ?? [], [tables[table].tableArn]);
    }
    for (const table of namesOf(indexes)) {
      const arns = (indexes[table] ?? []).map(
        (index) => `${tables[table].tableArn}/index/${index}`,
      );
      this.#allow('dynamodb', ['Query'], arns);
    }
    if (callsOpenStack) this.#allowPassword(settings);
    if (jobs.length > 0) this.#allowJobs(jobs, settings.stage);
    if (messagesHosts) this.#allowMessages(workTopic(settings.stage, '*'));
    if (certifiesHosts) this.#allowCertifying(settings.stage);
    for (const queue of sendsTo) this.#allowSending(queue, queues);
    if (stagesImages) this.#allowStaging(settings, staging, role);
    if (announces) this.#allowAnnouncing(settings.stage);
    for (const checked of checks) this.#allowCalling(`${settings.stage}-${checked}`);
    if (settings.network && (callsOpenStack || forwardsSignIns)) {
      connectToNetwork(this, functionName, settings.network);
    }
  }

  /** Allows it to dead-letter unreadable messages. */
  allowDeadLettering(name: QueueName | StreamConsumerName, dead: IQueue): void {
    this.addEnvironment(deadQueueUrlVariable(name), dead.queueUrl);
    this.#allow('sqs', ['SendMessage'], [dead.queueArn]);
  }

  #allowPassword({ passwordSecret, passwordKeyArn }: DeploymentSettings): void {
    const isArn = passwordSecret.startsWith('arn:') || Token.isUnresolved(passwordSecret);
    // Secrets Manager adds six random characters to a name.
    const arn = isArn
      ? passwordSecret
      : Stack.of(this).formatArn({
          service: 'secretsmanager',
          resource: 'secret',
          resourceName: `${passwordSecret}-??????`,
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        });
    this.#allow('secretsmanager', ['GetSecretValue'], [arn]);
    if (passwordKeyArn) this.#allow('kms', ['Decrypt'], [passwordKeyArn]);
  }

  #allow(service: string, actions: readonly string[], resources: string[]): void {
    this.addToRolePolicy(
      new PolicyStatement({ actions: actions.map((action) => `${service}:${action}`), resources }),
    );
  }

  #acknowledge(wildcard: string, reason: string): void {
    if (this.role) acknowledgeWildcard(this.role, wildcard, reason);
  }

  #allowSending(name: QueueName, queues: Queues): void {
    this.addEnvironment(queueUrlVariable(name), queues[name].queueUrl);
    this.#allow('sqs', ['SendMessage'], [queues[name].queueArn]);
  }

  /** Without the permission to list the bucket, S3 answers 403 for missing objects. */
  #allowStaging(settings: DeploymentSettings, bucket: Bucket, role: Role): void {
    this.addEnvironment(stagingBucketVariable, bucket.bucketName);
    const images = bucket.arnForObjects('images/*');
    this.#allow('s3', ['GetObject', 'PutObject'], [images]);
    this.#acknowledge(images, 'Images are staged on demand, named by their ids.');
    this.#allow('s3', ['ListBucket'], [bucket.bucketArn]);
    const { roleArn } = createImageReader(this, settings, bucket, role);
    this.addEnvironment(imageReaderVariable, roleArn);
    this.#allow('sts', ['AssumeRole'], [roleArn]);
  }

  #allowAnnouncing(stage: string): void {
    const bus = { service: 'events', resource: 'event-bus', resourceName: eventBusName(stage) };
    this.#allow('events', ['PutEvents'], [Stack.of(this).formatArn(bus)]);
  }

  /** Any version of the function. */
  #allowCalling(functionName: string): void {
    const versions = Stack.of(this).formatArn({
      service: 'lambda',
      resource: 'function',
      resourceName: `${functionName}:*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    this.#allow('lambda', ['InvokeFunction'], [versions]);
    this.#acknowledge(versions, 'Each release has a version of its own, with the next number.');
  }

  #iotArn(resource: string, resourceName: string): string {
    return Stack.of(this).formatArn({ service: 'iot', resource, resourceName });
  }

  #allowMessages(resourceName: string): void {
    const topic = this.#iotArn('topic', resourceName);
    this.#allow('iot', ['Publish'], [topic]);
    this.#acknowledge(topic, 'Messages go to any host of the stage, and the set of hosts changes.');
  }

  /** A certificate has no stage: only the thing that it is attached to has one. */
  #allowCertifying(stage: string): void {
    this.#allowMessages(certificateTopic(stage, '*'));
    const things = this.#iotArn('thing', `${stage}:*`);
    const certificates = this.#iotArn('cert', '*');
    this.#allow('iot', ['DescribeThing', 'ListThingPrincipals'], [things]);
    this.#allow('iot', ['AttachThingPrincipal', 'DetachThingPrincipal'], [things, certificates]);
    const ofCertificates = ['DescribeCertificate', 'UpdateCertificate', 'DeleteCertificate'];
    this.#allow('iot', [...ofCertificates, 'AttachPolicy', 'DetachPolicy'], [certificates]);
    this.#allow('iot', ['CreateCertificateFromCsr'], ['*']);
    this.#acknowledge(things, 'Any host of the stage may renew its certificate.');
    this.#acknowledge(certificates, 'AWS names a certificate by its hash.');
    this.#acknowledge('*', 'A certificate has no ARN before it is created.');
  }

  /** Jobs of this stage, for hosts of this stage. */
  #allowJobs(actions: readonly string[], stage: string): void {
    this.addEnvironment(thingArnVariable, this.#iotArn('thing', ''));
    const jobs = this.#iotArn('job', `${stage}-*`);
    this.#allow('iot', actions, [jobs]);
    this.#acknowledge(jobs, 'Jobs are created on demand, named by the stage.');
    const ofThings = actions.filter((action) => action !== 'CancelJob');
    if (ofThings.length === 0) return;
    const things = this.#iotArn('thing', `${stage}:*`);
    this.#allow('iot', ofThings, [things]);
    this.#acknowledge(things, 'Jobs address any host of the stage, and the set of hosts changes.');
  }
}

/** Where the password is, for the functions that need it; the password itself is in none. */
function passwordOf(
  name: FunctionName,
  { passwordSecret, passwordField }: DeploymentSettings,
): Record<string, string> {
  if (!access[name].callsOpenStack) return { [passwordVariable]: '' };
  return {
    [passwordVariable]: '',
    [passwordSecretVariable]: passwordSecret,
    ...(passwordField && { [passwordFieldVariable]: passwordField }),
  };
}

function namesOf(byTable: Readonly<Partial<Record<TableName, unknown>>>): TableName[] {
  return Object.keys(byTable) as TableName[];
}
