/** Whether only this machine reaches what listens there. */
export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.[\d.]+$/.test(host);
