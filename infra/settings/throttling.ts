// API Gateway's request limits. API Gateway counts per route, and answers 429 with its own body
// above the limit. Nova fails the build then, so its routes have the higher limit: the other
// routes together get less than the rest of the account's quota. Sign-ins have a higher limit than
// these: all callers share it, and the function itself slows down those that fail.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-throttling.html

import type { CfnStage } from 'aws-cdk-lib/aws-apigatewayv2';
import { type GatewayRoute, signInPath } from '#functions/gateway.ts';

export interface Throttling {
  /** Requests per second of each of Nova's routes. */
  readonly nova: number;
  /** Requests per second of each other route. */
  readonly others: number;
}

/** The route key of API Gateway. */
export function routeKey({ path, method }: GatewayRoute): string {
  return path === '$default' ? path : `${method ?? 'ANY'} ${path}`;
}

/** The calls of Nova, and ARQs by their uuids. */
export function isOnNovaPath({ path, method }: GatewayRoute): boolean {
  return method !== undefined || /\/v2\/accelerator_requests\/\{proxy\+\}$/.test(path);
}

/** Burst size: half a second, as in the account's own quota. */
export function burstOf(perSecond: number): number {
  return Math.max(Math.ceil(perSecond / 2), 1);
}

/** One caller without a token must not use up what all operators share. */
const signIns = { ThrottlingRateLimit: 30, ThrottlingBurstLimit: 15 };

/** Limits of some of the routes; the others have the stage's default. */
export function routeSettings(
  { nova }: Throttling,
  served: readonly GatewayRoute[],
): NonNullable<CfnStage['routeSettings']> {
  const ofNova = { ThrottlingRateLimit: nova, ThrottlingBurstLimit: burstOf(nova) };
  return Object.fromEntries(
    served.flatMap((route) => {
      if (isOnNovaPath(route)) return [[routeKey(route), ofNova]];
      return route.path === signInPath ? [[routeKey(route), signIns]] : [];
    }),
  );
}
