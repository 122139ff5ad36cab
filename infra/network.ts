// The deployment's own subnets, for a cloud that cannot be reached from elsewhere. Functions that speak
// to OpenStack go there; ADR 15 says what the subnets need to have.

import { ArnFormat, Stack } from 'aws-cdk-lib';
import { Effect, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnFunction, type Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { acknowledgeWildcard } from './nag.ts';

/** By ids: to look anything up in the account would make the template depend on who makes it. */
export interface Network {
  readonly subnetIds: readonly string[];
  readonly securityGroupIds: readonly string[];
}

/**
 * By these Lambda makes a function's network interfaces, in the name of the function's role. None of
 * them can be allowed for less than everything.
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
  if (!role || !(resource instanceof CfnFunction)) throw new TypeError('No function of ours.');
  resource.vpcConfig = { subnetIds: [...subnetIds], securityGroupIds: [...securityGroupIds] };
  handler.addToRolePolicy(new PolicyStatement({ actions: interfaceActions, resources: ['*'] }));
  // Lambda itself may; the function's code, which has the same role, may not.
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
    "Lambda makes network interfaces with the role; the function's own code is denied it.",
  );
}
