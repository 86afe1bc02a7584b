# The server for your own PostgreSQL, with the console. The image has no embedded PostgreSQL: that needs glibc and a
# writable disk.
# Both platforms share this stage: no package has code for one of them.
FROM --platform=$BUILDPLATFORM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json rolldown.config.js ./
COPY scripts ./scripts
RUN npm run build
RUN npm ci --omit=dev --omit=optional --omit=peer --workspace=instep --workspace=instep-engine --workspace=instep-operate --workspace=instep-console --ignore-scripts --no-audit --no-fund

FROM node:24-alpine
WORKDIR /app
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/packages/engine ./packages/engine
COPY --from=build /app/packages/operate ./packages/operate
COPY --from=build /app/packages/instep ./packages/instep
COPY --from=build /app/packages/console ./packages/console
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=40s --start-interval=1s \
  CMD wget -q -O /dev/null "http://127.0.0.1:$PORT/healthz"
# As process 1 it handles SIGTERM itself: no shell and no npm between it and Docker. Node 24 doubles the space for new
# objects, which costs 80 MB and gains nothing here (bench/README.md).
ENTRYPOINT ["node", "--max-semi-space-size=16", "packages/instep/bin/instep.js"]
CMD ["serve"]
