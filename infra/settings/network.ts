// The deployment's own subnets, for a cloud that is reachable only from there. Functions that
// call OpenStack run in them; ADR 15 lists what the subnets need.

import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnFunction, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { acknowledgeWildcard } from '#infra/nag.ts';

/** Ids, because a lookup would make the template depend on the account. */
export interface Network {
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

/**
 * Lambda creates a function's network interfaces with these actions, in the name of the
 * function's role. None of them can be restricted to a resource.
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
 */
export const interfaceActions = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
];

export function connectToNetwork(
  handler: LambdaFunction,
  functionName: string,
  { subnetIds, securityGroupIds }: Network,
): void {
  const role = handler.role;
  const resource = handler.node.defaultChild;
  if (!role || !(resource instanceof CfnFunction)) throw new TypeError('Not one of our functions.');
  resource.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };
  handler.addToRolePolicy(new PolicyStatement({ actions: interfaceActions, resources: ['*'] }));
  // Denied to the function's code, which has the same role; Lambda itself may.
  const functionArn = Stack.of(handler).formatArn({
    service: 'lambda',
    resource: 'function',
    resourceName: functionName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  handler.addToRolePolicy(
    new PolicyStatement({
      effect: Effect.DENY,
      actions: interfaceActions,
      resources: ['*'],
      conditions: { ArnEquals: { 'lambda:SourceFunctionArn': functionArn } },
    }),
  );
  acknowledgeWildcard(
    role,
    '*',
    "Lambda creates network interfaces with the role; the function's own code is denied it.",
  );
}
