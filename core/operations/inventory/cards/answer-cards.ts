import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { AcceptedReport } from '#core/contracts/report/inventory-report.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { storedPlaces } from '#core/domain/report/other-cards.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { offeredCard } from '#core/shapes/reported/offered-card.ts';

/**
 * Names the card that was offered at each address to an agent that has lost its state. Until then
 * the agent takes no device from its driver. A message that is lost follows the next report.
 *
 * @param devices as they were stored before the report
 */
export async function answerCards(
  { clients, log }: ConsumerDeps,
  { hostname, refused = {} }: Pick<StoredHost, 'hostname' | 'refused'>,
  devices: readonly Device[],
  { asks_cards: isAsked, boot_id }: AcceptedReport,
): Promise<void> {
  if (!isAsked) return;
  const stored = [...storedPlaces(devices)].map(([address, { card }]) => [address, card] as const);
  // Where another card is refused, the row may be gone.
  const before = Object.entries(refused).map(([address, { card }]) => [address, card] as const);
  const cards = Object.fromEntries(
    [...stored, ...before].flatMap(([address, card]) =>
      card ? [[address, toWire(offeredCard, card)] as const] : [],
    ),
  );
  try {
    await clients.hostMessages.send(hostname, { boot_id, cards });
    log.info('Cards sent', { host: hostname, cards: Object.keys(cards).length });
  } catch (error) {
    log.warn('Cards not sent', { host: hostname, error });
  }
}
